"""Evaluate AI systems without ground truth, from experts' yes and no answers.

This package exports the names that programs need; each is imported when it is first used. Its subpackages
(`oversight.harness.estimate`, `oversight.harness.store`, …) have separate interfaces.
"""

import lazy_loader

if __name__ != "oversight.harness":  # with the name "harness", its modules would exist twice
    raise ImportError("use: import oversight as ov, or oversight.harness.… for submodules")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
