"""What happened in a collection, in a chain of hashes; who is away, answers for another, or has a link."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
