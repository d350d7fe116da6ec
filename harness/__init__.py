"""Evaluate AI systems without ground truth, from experts' yes and no answers.

This package exports what its subpackages share: errors, types of arrays, seeds and the registry. Users import
`oversight`, or a subpackage such as `oversight.harness.estimate`.
"""

import lazy_loader

if __name__ != "oversight.harness":  # if imported as `harness`, all modules would be loaded twice
    raise ImportError("use: import oversight as ov; import submodules from oversight.harness")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
