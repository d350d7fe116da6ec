"""Analyses of several annotators per item: agreement, certification, human level, parity. Pure functions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
