"""Run a program on items: send its calls to a model, and turn its results into predictions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
