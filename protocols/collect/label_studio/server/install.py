"""Install Label Studio in a separate environment, and prepare an empty database, once per user.

Label Studio pins its libraries so strictly (for example ``openai < 2``) that it cannot share this project's
environment. Its database needs hundreds of migrations, so every server copies the prepared database.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from oversight.harness import LabelStudioError
from oversight.harness.distribution import require
from oversight.harness.output import say
from oversight.harness.platform import cache_dir, hold_start_lock

VERSION = "1.23.2"
DATABASE = "label_studio.sqlite3"
_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_KEPT = {"HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR", "TZ"}


def require_client() -> None:
    """Check that the client library for a server is installed.

    Raises
    ------
    ConfigError
        If the extra ``labelling`` is not installed.
    """
    require("label_studio_sdk", "labelling on a Label Studio server", "labelling")


def find_home() -> Path:
    """Return the directory of Label Studio's environment and servers."""
    folder = cache_dir() / "label-studio"
    folder.mkdir(exist_ok=True)
    return folder


def make_environment() -> Path:
    """Return the Python interpreter of Label Studio's environment, installed on first use (0.8 GB).

    Raises
    ------
    LabelStudioError
        If the installer fails.
    """
    folder = find_home() / VERSION
    folder.mkdir(exist_ok=True)
    python = folder / "env" / "bin" / "python"
    with hold_start_lock(folder):
        if not (folder / "installed").exists():
            # Remove files left by an interrupted installation.
            shutil.rmtree(folder / "env", ignore_errors=True)
            _tell(f"Installing Label Studio {VERSION} in {folder / 'env'} (0.8 GB, only this once) …")
            for command in _install_commands(folder / "env"):
                run_command(command, dict(os.environ), "Label Studio could not be installed", _INSTALL_HINT)
            (folder / "installed").touch()
    return python


def make_template() -> Path:
    """Return a database with Label Studio's empty tables, created on first use."""
    python = make_environment()
    folder = find_home() / VERSION
    with hold_start_lock(folder):
        if not (folder / "migrated").exists():
            shutil.rmtree(folder / "template", ignore_errors=True)
            (folder / "template").mkdir()
            _tell("Creating Label Studio's tables (about a minute, only this once) …")
            command = [str(python), "-m", "label_studio.server", "version"]
            where = {"LABEL_STUDIO_BASE_DATA_DIR": str(folder / "template")}
            run_command(command, make_clean_environment(where), "Label Studio's tables could not be created")
            (folder / "migrated").touch()
    return folder / "template" / DATABASE


def make_clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return a server's environment variables, without any API keys from the caller's environment.

    The result contains `extra`. It also contains variables that turn telemetry off, and a few of the caller's
    variables, for example ``PATH``.
    """
    kept = {n: v for n, v in os.environ.items() if n in _KEPT or n.startswith("LC_")}
    quiet = {
        "COLLECT_ANALYTICS": "false",
        "FRONTEND_SENTRY_DSN": "",
        "LATEST_VERSION_CHECK": "false",
        "PYTHONWARNINGS": "ignore",
        "SENTRY_DSN": "",
    }
    return {**kept, **quiet, **extra}


_INSTALL_HINT = " (check that pip or uv can reach the package index)"


def _install_commands(target: Path) -> list[list[str]]:
    """Return the commands that create the environment, with uv if available because it is faster."""
    python, requirements = str(target / "bin" / "python"), str(_REQUIREMENTS)
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv:
        make = [uv, "venv", "--quiet", "--python", sys.executable, str(target)]
        return [make, [uv, "pip", "install", "--quiet", "--python", python, "-r", requirements]]
    if importlib.util.find_spec("venv") is None:
        raise LabelStudioError("installing Label Studio needs uv, or Python's venv module (python3-venv)")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    return [[sys.executable, "-m", "venv", str(target)], [*pip, "-r", requirements]]


def run_command(command: list[str], env: dict[str, str], failure: str, hint: str = "") -> None:
    """Run a fixed command without a shell and wait for its end.

    Raises
    ------
    LabelStudioError
        If the command fails; the message contains the last line of its output.
    """
    done = subprocess.run(  # noqa: S603
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise LabelStudioError(f"{failure}: {lines[-1].strip()}{hint}")


def _tell(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        say(text)
