"""Write the files of a study, and run the project's commands on the study in this process."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from oversight.harness.cli.main import main as oversight


def write_study(folder: Path, settings: str, classes: Sequence[str], per_class: int = 1) -> None:
    """Write study.toml, and experts.toml with this number of experts per class."""
    experts = "".join(
        f'[[expert]]\nname = "{c}{"" if per_class == 1 else e}"\nclasses = ["{c}"]\n\n'
        for c in classes
        for e in range(per_class)
    )
    (folder / "study.toml").write_text(settings, encoding="utf-8")
    (folder / "experts.toml").write_text(experts, encoding="utf-8")


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


def call_command(folder: Path, *words: str) -> Any:
    """Run a command on a study. Returns its JSON output; if it fails, exit with its output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = oversight([*words, "--study", str(folder / "study.toml"), "--json"])
        except SystemExit:  # argparse exits if an option does not exist
            code = 2
    if code:
        sys.exit(f"oversight {' '.join(words)}: {out.getvalue()}{err.getvalue()}")
    return json.loads(out.getvalue())
