"""The verbs ``label``, ``experts``, ``server`` and ``demo``, which collect experts' answers."""

__all__: list[str] = []
