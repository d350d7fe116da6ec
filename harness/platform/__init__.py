"""Functions of the operating system: background servers, ports, processes, folders, atomic file writes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
