"""Run generated code. Code passes a static gate, then runs in a process without files or network."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
