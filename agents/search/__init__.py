"""The search for a better workflow: set-up, run, report, and export of the winner."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
