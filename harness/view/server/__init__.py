"""Serve the local page: check access, send the data, and report later changes."""
