"""The things the project speaks of, as frozen values.

Items, questions, answers, labels, predictions, estimates. They do no I/O and import nothing but errors;
everything above passes them on.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
