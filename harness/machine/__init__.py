"""What belongs to the machine.

Llocks, processes that outlive their caller, ports, files that are written whole.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
