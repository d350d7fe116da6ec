"""The contents of the page as plain values for JSON; one module per part of the page."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
