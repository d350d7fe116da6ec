"""Models that answer requests: an endpoint, a callable, a command; within limits, with retries."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
