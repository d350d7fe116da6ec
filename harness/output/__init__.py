"""What leaves the program: texts of others made safe to keep and to show, and the one way to a terminal."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
