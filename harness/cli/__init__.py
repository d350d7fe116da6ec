"""The command line: a table of verbs, each loaded only when it is called. Verbs only parse and print."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
