"""Evaluate AI systems without ground truth, from experts' yes and no answers.

``import oversight as ov`` gives the names that a study in Python needs; each is imported when it is first
used. Import all other names from their own packages, for example `oversight.harness.estimate`. In a clone of
the repository, `agents`, `harness` and `protocols` beside this file are links to the folders at the top.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
