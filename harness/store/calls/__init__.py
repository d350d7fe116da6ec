"""Calls to models: what was asked of endpoints, what it may cost, and which process works on a run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
