"""The answer page for experts: one question at a time, on phone or desktop, one key or tap per answer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
