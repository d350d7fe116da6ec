"""Evaluate AI systems without ground truth, from experts' yes and no answers.

``import oversight as ov`` gives the names that a study in Python needs; each is imported when it is first
used. What lies deeper is imported from where it lies, such as `oversight.harness.estimate`. In a clone the
three folders beside this file are links to those at the top.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
