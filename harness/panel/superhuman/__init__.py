"""Whether a model beats the average annotator without a truth.

Cceilings, certificates, the direct comparison.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
