"""The small language model on this machine: install its weights, and start and stop its server."""
