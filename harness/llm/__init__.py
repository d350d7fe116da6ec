"""Language models: endpoints, parsing of answers, limits and budgets, the runner, batches, local model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
