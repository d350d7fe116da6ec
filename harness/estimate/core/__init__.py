"""The ground of every estimator.

Checked arguments, binomial samples, the tallies made of them, their intervals, p-values.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
