"""Workflows and their search, with expert labels as the fitness signal."""

__all__: list[str] = []
