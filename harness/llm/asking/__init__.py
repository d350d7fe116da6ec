"""Asking models about items, as a command does: in this process alone, or together with others."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
