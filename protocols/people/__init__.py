"""Experts over the weeks of a collection: who is away, who answers for whom, what to remind them of."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
