"""Workers on the nodes of a Ray cluster: each is `oversight worker`, started where there is room for it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
