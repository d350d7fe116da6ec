"""The audit of a study: freeze its design, check its trail, write and check bundles."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
