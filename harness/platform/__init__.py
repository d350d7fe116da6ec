"""The platform: background servers, ports, the cache, and atomic file writes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
