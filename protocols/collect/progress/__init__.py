"""Progress of every expert, and the share of all queues that everybody has answered."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
