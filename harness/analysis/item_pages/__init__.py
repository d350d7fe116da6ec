"""The items of a study page by page: which of them a person asks for, and their rows."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
