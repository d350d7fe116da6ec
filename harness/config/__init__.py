"""``study.toml`` as immutable, validated values: the study, its models, endpoints and search."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
