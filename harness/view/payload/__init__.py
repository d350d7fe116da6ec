"""The contents of the page, as plain values for JSON: one module for each of its parts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
