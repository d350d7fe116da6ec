"""One module per verb: its arguments, one call into the library, and its output."""
