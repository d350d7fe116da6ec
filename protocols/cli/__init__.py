"""The verbs of collection: ``label``, ``experts``, ``label-studio``, ``demo``."""

__all__: list[str] = []
