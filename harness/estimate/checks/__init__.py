"""Checks of the data that belong with every estimate: whether it looks as the estimators suppose."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
