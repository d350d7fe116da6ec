"""Models that answer requests: an endpoint over HTTP or the SDK, a callable, a command."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
