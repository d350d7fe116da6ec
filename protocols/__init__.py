"""Route questions to experts, and convert their answers to labels."""

import lazy_loader

if __name__ != "oversight.protocols":  # if imported as `protocols`, all modules would be loaded twice
    raise ImportError("use: import oversight as ov; import submodules from oversight.protocols")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
