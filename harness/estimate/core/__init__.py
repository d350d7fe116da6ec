"""What every estimator stands on.

Cchecked arguments, one binomial sample and its intervals, tail probabilities, p-values.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
