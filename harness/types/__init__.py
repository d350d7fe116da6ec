"""The project's frozen value types.

Items, questions, answers, labels, predictions, estimates. They do no I/O and import only errors.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
