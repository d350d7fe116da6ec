"""The contents of the page as plain values for JSON; one module per part of the page."""
