"""Workflows of a study: its roles and wording, and the hand-made programs in `library`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
