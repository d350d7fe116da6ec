"""A program runs over items: its calls become requests, are paid and answered, and end as predictions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
