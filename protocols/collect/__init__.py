"""How questions reach people and answers come back: spreadsheets, simulated experts, Label Studio."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
