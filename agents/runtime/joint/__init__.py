"""Programs that several processes run together: one leads, calls are claimed by their keys."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
