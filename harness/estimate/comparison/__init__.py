"""Models compared on the same items: paired tests and differences, rankings that admit ties."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
