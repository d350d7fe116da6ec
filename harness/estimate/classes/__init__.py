"""Results by class: recall, precision, F1, their means, mean costs, and differences between models."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
