"""The use cases of the command line as calls: a study's stored data become estimates and reports."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
