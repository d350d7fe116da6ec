"""Agreement of annotators: Krippendorff's α, kappas, AC1, per class and person."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
