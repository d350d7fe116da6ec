"""Questions about units of open answers: who is asked what, and which question follows from an answer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
