"""Name of the distribution, and messages about missing extras.

The command and the import name are ``oversight``; the distribution has another name, because that one
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
    """Check that an extra is installed, without importing it, which may take seconds.

    Parameters
    ----------
    module
        A package that belongs to the extra.
    what
        What needs the extra, as the subject of a sentence.
    extra
        Name of the extra.

    Raises
    ------
    ConfigError
        If the extra is not installed.
    """
    if find_spec(module) is None:
        raise ConfigError(f"{what} needs: {install_line(extra)}")
