"""Clients of models, at an endpoint or on this machine, with rate limits and retries."""
