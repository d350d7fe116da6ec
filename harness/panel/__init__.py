"""Several annotators per item."""
