"""Files and hub data sets become items; every bad row is named by file, line and field."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
