"""Answers that another program has: logs of inspect-ai, lm-eval and HELM, and plain tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
