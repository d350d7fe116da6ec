"""What happened in a collection, in a chain of hashes; and who is away, or answers in another's place."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
