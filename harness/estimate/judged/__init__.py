"""Estimates with judges: models whose probabilities narrow an interval, and are never taken for the truth."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
