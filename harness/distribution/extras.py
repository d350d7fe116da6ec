"""What this project is called where packages are installed from, and what is said where a part is missing.

The command and the import name are ``oversight``; the distribution has a name of its own, since that one
belongs to somebody else.
"""

from __future__ import annotations

from importlib.util import find_spec

from oversight.harness.errors import ConfigError

DISTRIBUTION = "oversight-eval"
VERSION = "0.2.0"


def install_line(extra: str) -> str:
    """The command that installs an extra of this project."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(module: str, what: str, extra: str) -> None:
    """Make sure that an extra is installed; nothing is imported, which may take seconds.

    Parameters
    ----------
    module
        A package that the extra brings.
    what
        What cannot be done without it, as the subject of a sentence.
    extra
        The extra that brings it.

    Raises
    ------
    ConfigError
        If the extra is not installed.
    """
    if find_spec(module) is None:
        raise ConfigError(f"{what} needs: {install_line(extra)}")
