"""Pictures of panels: agreement per class, bounds, human and model per bin."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
