"""The audit of a study: its design, frozen before answers; its trail, checked; a bundle for others."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
