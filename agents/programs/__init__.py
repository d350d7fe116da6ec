"""What a workflow is: its source, roles, prompt format and calls; the hand-made ones are in `library`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
