"""Predictions and labels as validated arrays, and as the counts that hold everything the estimators use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
