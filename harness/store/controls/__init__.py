"""Control questions (gold, repeats and overlap), stored in other tables than the study's questions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
