"""Models over items with everything stored: prompts and readings, jobs and batches, progress."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
