"""The page served on this machine: who may ask, what is sent, and what changed since."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
