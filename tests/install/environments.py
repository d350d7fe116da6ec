"""Environments of their own, with nothing of this one in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from oversight.harness.platform import cache_dir

ROOT = Path(__file__).parents[2]
_UV = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def call(
    *words: str | Path, folder: Path | None = None, code: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program without this process's import path, and expect an exit code."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | environment
    done = subprocess.run(
        [str(w) for w in words], cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this clone into a folder; skips where that cannot be done."""
    _uv("build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path, *installs: Sequence[str | Path], python: str = sys.executable) -> Path:
    """Make an environment by installing these, one after the other; its folder of programs.

    Skips, with the reason, where this Python or these packages cannot be had.
    """
    _uv("venv", "--quiet", "--clear", "--no-python-downloads", "--python", python, folder)
    for words in installs:
        install(folder / "bin", *words)
    return folder / "bin"


def install(programs: Path, *words: str | Path) -> None:
    """Install these in an environment."""
    _uv("pip", "install", "--quiet", "--python", programs / "python", *words)


def keep_environment(name: str, requirements: Sequence[str]) -> Path:
    """The same, once for all test runs: in the user's cache, made again when the requirements change."""
    folder = cache_dir() / "tests" / name
    noted, wanted = folder / "requirements.txt", "\n".join(requirements)
    if not noted.exists() or noted.read_text(encoding="utf-8") != wanted:
        make_environment(folder, requirements)
        noted.write_text(wanted, encoding="utf-8")
    return folder / "bin"


def _uv(*words: str | Path) -> None:
    if _UV is None:
        pytest.skip("there is no uv to make an environment with")
    done = subprocess.run([_UV, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"uv {words[0]}: {done.stderr.strip()[-300:]}")
