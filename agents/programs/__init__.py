"""Roles and prompt format of a study's workflows, and the hand-written programs in `library`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
