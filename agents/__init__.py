"""Workflows and their search, with expert labels as the fitness signal.

`oversight.agents.workflow`, `oversight.agents.operators` and `oversight.agents.standalone` are what workflows
outside this package import; they keep their places.
"""

import lazy_loader

if __name__ != "oversight.agents":  # this folder in a clone: its modules would be there twice
    raise ImportError("write: import oversight as ov, and oversight.agents.… for what lies deeper")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
