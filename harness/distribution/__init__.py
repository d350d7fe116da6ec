"""The distribution that this project is installed as: its name, its extras, and who else is in its folder."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
