"""Accuracy and its uncertainty from expert labels: pure functions, arrays in, `Estimate` out.

No network, SQL or data frame is imported here. Most users need only `accuracy`, `accuracies` and `compare`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
