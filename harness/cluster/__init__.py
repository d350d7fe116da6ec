"""A Ray cluster whose nodes make the calls and run the programs of this process."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
