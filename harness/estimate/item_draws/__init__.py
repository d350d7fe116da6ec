"""Which items of a pool to draw: in proportion within strata of agreement, or by how unsure judges are."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
