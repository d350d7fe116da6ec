"""Evaluate AI systems without ground truth, from experts' yes and no answers.

The names of this face are what a program needs; each is imported when it is first used. The rooms below it
(`oversight.harness.estimate`, `oversight.harness.store`, …) each have a separate interface.
"""

import lazy_loader

if __name__ != "oversight.harness":  # imported as a folder of a clone, so its modules would exist twice
    raise ImportError("use: import oversight as ov, or oversight.harness.… for submodules")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
