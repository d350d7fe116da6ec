"""Verdicts against a bar: bets that refute either side of it, and may be looked at after every answer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
