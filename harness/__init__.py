"""Evaluate AI systems without ground truth, from experts' yes and no answers.

The names of this face are what a program needs; each is imported when it is first used. The rooms below it
(`oversight.harness.estimate`, `oversight.harness.store`, …) each have a separate interface.
"""

import lazy_loader

if __name__ != "oversight.harness":  # this folder in a clone: its modules would be there twice
    raise ImportError("write: import oversight as ov, and oversight.harness.… for what lies deeper")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
