"""Panels of several annotators: from files and values of Python, or from a study's database."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
