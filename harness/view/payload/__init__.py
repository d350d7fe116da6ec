"""What the page shows, as plain values that JSON can hold: one module for each of its parts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
