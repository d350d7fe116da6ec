"""Where a study begins: the file beside it looked at, what it proposes, and the files written from that."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
