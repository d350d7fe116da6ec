"""Where a system stands among people who judge the same items: HLPI, HLPRI, the methodology."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
