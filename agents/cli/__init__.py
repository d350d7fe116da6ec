"""The verbs of workflows and search."""

__all__: list[str] = []
