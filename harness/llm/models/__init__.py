"""Clients of models, at an endpoint or on this machine, with rate limits and retries."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
