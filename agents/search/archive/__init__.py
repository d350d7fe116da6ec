"""What a search knows: programs, where they come from, what they answered. No score is kept."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
