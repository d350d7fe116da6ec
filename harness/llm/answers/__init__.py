"""An item becomes a prompt, and a model's text one of the item's options or a reason why it cannot."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
