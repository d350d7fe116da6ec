"""The report of a search: its findings, the page, lineage, plots, text for the terminal."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
