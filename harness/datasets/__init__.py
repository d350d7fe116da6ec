"""Read files and hub data sets as items; errors name file, line and field of each bad row."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
