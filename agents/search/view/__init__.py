"""Data of the page that shows a search, as JSON values."""
