"""The small language model on this machine: install its weights, and start and stop its server."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
