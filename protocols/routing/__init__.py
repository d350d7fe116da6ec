"""Draw questions and their experts, with probabilities that are recorded before any answer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
