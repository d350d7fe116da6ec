"""The verbs of panels: ``agree``, ``certify``, ``parity``, and what the three share."""

__all__: list[str] = []
