"""Copies of the frozen studies, whose databases are upgraded to this version under their old names."""

from __future__ import annotations

import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from oversight.harness.store import upgrade_database

ROOT = Path(__file__).parent


@lru_cache
def read_upgraded(study: str) -> bytes:
    """The upgraded database of a frozen study; each process upgrades it once."""
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "old.db"), Path(folder, "new.db")
        shutil.copy(ROOT / study / "study.db", old)
        upgrade_database(f"sqlite:///{old}", str(new))
        return new.read_bytes()


def copy_study(study: str, folder: Path) -> Path:
    """Copy what a frozen study is made of to a folder of its name; return that folder."""
    target = folder / study
    shutil.copytree(ROOT / study, target, ignore=shutil.ignore_patterns("expected", "__pycache__"))
    (target / "study.db").write_bytes(read_upgraded(study))
    return target
