"""Second questions: about items whose first answer was no, drawn when all first answers were known."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
