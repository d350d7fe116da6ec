"""Human and model where the truth is a vote, by how certain the vote is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
