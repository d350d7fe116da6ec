"""The project's value types: items, questions, answers, labels, predictions and estimates.

This package does no I/O.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
