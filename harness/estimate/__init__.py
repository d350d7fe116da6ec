"""Accuracy and its uncertainty from expert labels: pure functions, arrays in, `Estimate` out.

No network, SQL or data frame is imported here. `accuracy`, `accuracies` and `compare` are the calls
that most users need; the folders below hold what they are made of.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
