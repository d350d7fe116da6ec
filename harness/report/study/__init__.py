"""The report of a study: its contents, the page, plots, tables for the terminal."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
