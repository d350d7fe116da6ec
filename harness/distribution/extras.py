"""Name and version of the package that pip installs, and messages about missing extras.

The command and the import name are ``oversight``. The package has another name, because ``oversight`` belongs
to another project.
"""

from __future__ import annotations

from importlib.util import find_spec

from oversight.harness.errors import ConfigError

DISTRIBUTION = "oversight-eval"
VERSION = "0.2.0"


def install_line(extra: str) -> str:
    """Return the command that installs an extra of this project."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(module: str, what: str, extra: str) -> None:
    """Check that an extra is installed, without importing it, because the import may take seconds.

    Parameters
    ----------
    module
        Import name of a package in the extra.
    what
        Feature that needs the extra; subject of the error message.
    extra
        Name of the extra.

    Raises
    ------
    ConfigError
        If the extra is not installed.
    """
    if find_spec(module) is None:
        raise ConfigError(f"{what} needs: {install_line(extra)}")
