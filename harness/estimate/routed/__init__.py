"""Estimates from answers asked with known probabilities: sample, propensities, efficient estimator."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
