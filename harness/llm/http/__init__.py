"""A thin HTTP/1.1 client: pooled connections to one endpoint, replies read whole and never beyond a cap."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
