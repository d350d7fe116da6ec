"""Run models over items: prompts, calls, parsing of answers, storage and progress."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
