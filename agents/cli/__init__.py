"""Commands for workflows and searches."""

__all__: list[str] = []
