"""The Batch API of an endpoint: batches are handed over, looked at and collected."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
