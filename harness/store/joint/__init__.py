"""Runs that several processes make together: workers, leases of items, claims of calls, shared limits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
