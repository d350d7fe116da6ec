"""Plots of results with matplotlib, one function per kind of result; `result.plot()` calls the right one.

Every function draws on the given axes, or on new ones, and returns them. Matplotlib is imported when the
first plot is drawn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
