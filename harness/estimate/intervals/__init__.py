"""Intervals of an accuracy.

Exact, score, deviation bounds, sums and products of parts, confidence sequences.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
