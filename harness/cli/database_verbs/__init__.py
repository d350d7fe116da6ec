"""The verbs of a study's database itself: ``store`` and ``verify``."""

__all__: list[str] = []
