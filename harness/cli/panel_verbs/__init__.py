"""The verbs of panels: ``agree``, ``certify``, ``parity``, and their shared arguments."""

__all__: list[str] = []
