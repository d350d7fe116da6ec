"""Run other implementations, each in a separate virtual environment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oversight.harness.platform import cache_dir

UV = Path(sys.executable).with_name("uv")


def run_peers(
    script: str, requirements: Sequence[str], *words: str | Path, folder: str = "", python: str = ""
) -> dict[str, Any]:
    """Run a script of this folder in an environment with these packages. Returns the JSON object it prints.

    The environment is created in the user's cache on first use; `folder` names it if a script uses several
    environments, and `python` is its interpreter. If the environment cannot be created or the script fails,
    the reason is printed, and the result is empty.
    """
    names = ", ".join(requirements)
    place = cache_dir() / "benchmarks" / (folder or Path(script).stem.strip("_"))
    interpreter = place / "bin" / "python"
    wanted = "\n".join(requirements)
    noted = place / "requirements.txt"
    if not UV.exists():
        print(f"{names} not timed: there is no {UV}")
        return {}
    if not noted.exists() or noted.read_text() != wanted:
        print(f"installing {names} in {place}", file=sys.stderr)
        make = [str(UV), "venv", "--quiet", "--clear", "--python", python or sys.executable, str(place)]
        install = [str(UV), "pip", "install", "--quiet", "--python", str(interpreter), *requirements]
        for command in (make, install):
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  fixed
            if done.returncode:
                print(f"{names} cannot be installed: {done.stderr.strip()[-200:]}")
                return {}
        noted.write_text(wanted)
    command = [str(interpreter), "-W", "ignore", str(Path(__file__).with_name(script)), *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603  fixed
    if done.returncode:
        print(f"{names} not measured: {script} ended with {done.returncode}, as said above")
        return {}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
