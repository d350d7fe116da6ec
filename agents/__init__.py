"""Workflows and the search for better ones, with expert labels as the fitness signal.

Workflows outside this package import `oversight.agents.workflow`, `oversight.agents.operators` and
`oversight.agents.standalone`, so these modules must keep their names.
"""

import lazy_loader

if __name__ != "oversight.agents":  # if imported as `agents`, all modules would be loaded twice
    raise ImportError("use: import oversight as ov; import submodules from oversight.agents")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
