"""The number of questions an interval costs under each protocol, from a synthetic population."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
