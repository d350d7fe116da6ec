"""Pictures on axes of matplotlib, one function a kind of result; `result.plot()` chooses it.

Every function takes the axes to draw on, or makes some, and returns them. Matplotlib is imported when the
first picture is drawn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
