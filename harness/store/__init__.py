"""The study's database. All SQL is in this package. Writing the same rows twice usually changes nothing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
