"""What each way of installing takes: the wheel is built, environments are made, and their files are counted.

    python benchmarks/install_sizes.py [--quick] [--python 3.12]

Megabytes are blocks on disk (1,048,576 bytes), without and with the byte code that pip writes at once and
others on first use; the environment's own files are in it, uv needs no pip there. The last line is JSON:
megabytes with byte code and packages of each install. It fails if an install is above its bound.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._peers import UV
from oversight.harness.distribution import DISTRIBUTION

ROOT = Path(__file__).parents[1]
INSTALLS = {
    "smallest": ("{wheel}",),
    "standard": ("{wheel}[standard]",),
    "demo": ("-r", str(ROOT / "requirements-demo.txt"), "{wheel}"),
    "all": ("{wheel}[all]",),
    "tests": ("-r", str(ROOT / "requirements.txt"), "{wheel}"),
}
QUICK = ("smallest", "standard")
BOUNDS = {"smallest": 330, "standard": 1200, "demo": 1200}
"""Megabytes with byte code."""


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this clone into a folder."""
    call(UV, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(folder: Path, words: Sequence[str], python: str) -> Path:
    """Make an environment with these installed; its Python."""
    call(UV, "venv", "--quiet", "--clear", "--python", python, folder)
    found = folder / "bin" / "python"
    call(UV, "pip", "install", "--quiet", "--python", found, "--compile-bytecode", *words)
    return found


def call(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True)  # noqa: S603  fixed


def measure(folder: Path) -> tuple[float, float, int]:
    """Megabytes without and with byte code, and distributions."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    sizes = {path: path.stat().st_blocks * 512 / 2**20 for path in files}
    plain = sum(size for path, size in sizes.items() if path.suffix != ".pyc")
    return plain, sum(sizes.values()), len(list(folder.rglob("*.dist-info")))


def main(names: Sequence[str], python: str) -> int:
    found = {}
    print(f"{'install':<10} {'MB':>7} {'MB with byte code':>18} {'packages':>9} {'bound':>6}")
    with tempfile.TemporaryDirectory() as made:
        wheel = build_wheel(Path(made))
        for name in names:
            folder = Path(made, name)
            install(folder, [word.format(wheel=wheel) for word in INSTALLS[name]], python)
            plain, whole, packages = measure(folder)
            bound = BOUNDS.get(name)
            print(f"{name:<10} {plain:>7.0f} {whole:>18.0f} {packages:>9} {bound or '':>6}", flush=True)
            found[name] = {"mb": round(whole), "packages": packages}
    print(json.dumps({DISTRIBUTION: found}))
    return int(any(found[name]["mb"] > bound for name, bound in BOUNDS.items() if name in found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="only the smallest and the standard install")
    parser.add_argument("--python", default=sys.executable, help="a version or a path")
    chosen = parser.parse_args()
    sys.exit(main(QUICK if chosen.quick else tuple(INSTALLS), chosen.python))
