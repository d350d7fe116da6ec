"""The study's database, which contains all SQL. Every write may be repeated."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
