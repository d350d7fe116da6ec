"""Write the files of a study, and run the project's commands on the study in this process."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oversight.harness.cli.main import main as oversight


def write_study(folder: Path, settings: str, classes: Mapping[str, str]) -> None:
    """Write study.toml, and experts.toml; `classes` maps the name of each expert to a class."""
    experts = (f'[[expert]]\nname = "{name}"\nclasses = ["{c}"]\n\n' for name, c in classes.items())
    (folder / "study.toml").write_text(settings, encoding="utf-8")
    (folder / "experts.toml").write_text("".join(experts), encoding="utf-8")


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
