"""Submit batches of requests to an endpoint's Batch API, poll them and collect their answers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
