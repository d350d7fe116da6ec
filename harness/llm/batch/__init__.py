"""The Batch API: the same requests and answers at a lower price, some hours later."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
