"""Scores of a study in the form that inspect-ai takes, and the estimate recomputed from what they carry."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
