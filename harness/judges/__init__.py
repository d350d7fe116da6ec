"""How good judges are, what they save, and where their calibration holds.

A judge is a machine that gives every option of an item a probability: a model with log-probabilities or
several samples, an imported file, or a decision endpoint. It answers the same yes/no questions as the
experts, with unknown errors. Nothing here takes a judge's word for the truth: every number is made of
experts' answers, weighted by the inverse of their propensities.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
