"""Questions that are asked about the experts: gold, repeats, second opinions; kept apart from the study's."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
