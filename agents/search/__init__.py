"""The search for a better workflow: set up, run, reported, its winner exported."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
