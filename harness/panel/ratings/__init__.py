"""Who gave which label to which item, one label made of several, and how certain it is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
