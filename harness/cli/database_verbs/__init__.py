"""The verbs of a study's database: ``store`` and ``verify``."""

__all__: list[str] = []
