"""From answers to an estimate.

Answers become labels, predictions and labels validated arrays, arrays the counts that hold everything the
estimators use, and the counts of one or several strata an estimate.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
