"""Collect experts' answers through Label Studio, with one project per expert."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
