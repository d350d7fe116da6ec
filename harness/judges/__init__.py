"""Measure how good judges are, how many questions they save, and whether they stay calibrated on other items.

A judge is a machine that gives every option of an item a probability: a model with log-probabilities or
several samples, an imported file, or a decision endpoint. A judge answers the same yes/no questions as the
experts, with unknown error rates. No result treats a judge's answer as the truth: every result is computed
from experts' answers, weighted by the inverse of their propensities.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
