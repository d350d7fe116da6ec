"""Create a study with the classes, experts and settings of another study."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from oversight.harness.analysis.new_study import SEED_BITS, refuse_study
from oversight.harness.config import (
    SCHEMA_FILE,
    STUDY_FILE,
    Study,
    change_setting,
    read_schema_text,
    read_study,
)
from oversight.harness.output import read_text
from oversight.harness.platform import write_whole

_COPIED = (("experts", "roster"), ("prompt", "template"), ("prompt", "system"), ("search", "start"))
"""Files that are copied, so that a change in one study does not change the other."""
_SHARED = (
    ("items", "file"),
    ("experts", "reference"),
    ("experts", "gold"),
    ("estimate", "panel"),
    ("estimate", "costs"),
)
"""Files that are not copied; the new study refers to the other study's files."""
_BESIDE = ("prices.toml", "workflow.toml")
"""Files of a study that study.toml does not name; they are copied if they exist."""


def copy_study(
    source: str | Path,
    folder: str | Path,
    *,
    items: str | None = None,
    protocol: str | None = None,
    seed: int | None = None,
) -> list[Path]:
    """Create a study with another study's settings, but without its questions. Returns the files written.

    Parameters
    ----------
    source
        The other study's folder, or its study file.
    items
        Items file, as a path relative to the new folder; None for the items of the other study.
    protocol
        Protocol; None for that of the other study.
    seed
        Seed of every draw; a random one by default.

    Raises
    ------
    BadInput
        If the folder contains a study already, or a setting cannot be replaced.
    DataError
        If the other study file cannot be read.
    """
    path, folder = Path(source), Path(folder)
    path = path / STUDY_FILE if path.is_dir() else path
    other, target = read_study(path), refuse_study(folder)
    text, copies = _rename_files(other, read_text(path), folder)
    changes: list[tuple[str, str, str | int]] = [
        ("study", "name", folder.resolve().name),
        ("study", "seed", secrets.randbits(SEED_BITS) if seed is None else seed),
        ("study", "store", "study.db"),
    ]
    changes += [("items", "file", items)] if items else []
    changes += [("experts", "protocol", protocol)] if protocol else []
    for section, name, value in changes:
        if f"[{section}]" not in text:
            text += f"\n[{section}]\n"
        text = change_setting(text, section, name, value)
    folder.mkdir(parents=True, exist_ok=True)
    written = [target, folder / SCHEMA_FILE]
    for old, new in copies.items():
        if not (folder / new).exists():
            shutil.copyfile(old, folder / new)
            written.append(folder / new)
    (folder / SCHEMA_FILE).write_text(read_schema_text(), encoding="utf-8")
    write_whole(text, target, mode=0o666)
    return written


def _rename_files(other: Study, text: str, folder: Path) -> tuple[str, dict[Path, str]]:
    """Change the relative paths in a study file's text so that they are right for the new folder.

    Returns the changed text and a dictionary: path of each file to copy → the copy's name in the new folder.
    """
    copies = {other.path(name): name for name in _BESIDE if other.path(name).is_file()}
    for section, name in (*_COPIED, *_SHARED):
        named = getattr(getattr(other, section), name)
        if named is None or Path(named).is_absolute():
            continue
        if section == "search" and not other.path(named).is_file():
            continue  # the setting names a program of the library, not a file
        if (section, name) in _COPIED and other.path(named).is_file():
            copies[other.path(named)] = Path(named).name
            seen = Path(named).name
        else:
            seen = os.path.relpath(other.path(named), folder)
        if seen != named:
            text = change_setting(text, section, name, seen)
    return text, copies
