"""Parts of web servers: where they listen, what they send, and the text of their pages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
