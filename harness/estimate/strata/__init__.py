"""One stratum's estimate, several strata combined, and the estimate that may be looked at any time."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
