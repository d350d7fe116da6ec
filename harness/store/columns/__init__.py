"""A study read as columns: its questions, its answers, what its models predict."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
