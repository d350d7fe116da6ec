"""Make texts from outside safe to store and show, and print to a terminal."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
