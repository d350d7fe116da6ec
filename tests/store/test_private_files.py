"""Only the owner can read a study's stored files, including files of older versions that all could read."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from oversight.harness.platform import data_dir, repair_rights, repair_tree, write_whole
from oversight.harness.store import Store


def rights(path: Path) -> int:
    """Its permissions."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_database_is_made_for_its_owner_and_an_old_one_is_repaired(tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    with Store(f"sqlite:///{file}"):
        beside = [path for path in tmp_path.iterdir() if path.name.startswith("study.db")]
        assert {rights(path) for path in beside} == {0o600}
    file.chmod(0o664)
    with Store(f"sqlite:///{file}") as store:
        store.content.has_items()
        assert {rights(path) for path in tmp_path.iterdir()} == {0o600}


def test_a_command_makes_nothing_that_others_can_read(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id,text\n1,some text\n2,another text\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "oversight.harness.cli.main",
        "init",
        "--items",
        "items.csv",
        "--classes",
        "a,b",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, umask=0o022, check=False)
    assert done.returncode == 0, done.stderr
    made = [path for path in tmp_path.rglob("*") if path.name != "items.csv"]
    assert made
    assert not [path for path in made if rights(path) & 0o077]


def test_rights_are_repaired_and_links_stay(tmp_path: Path) -> None:
    inside, outside = tmp_path / "data", tmp_path / "elsewhere"
    inside.mkdir(mode=0o755)
    (inside / "log").write_text("", encoding="utf-8")
    outside.write_text("", encoding="utf-8")
    outside.chmod(0o644)
    (inside / "link").symlink_to(outside)
    repair_tree(inside)
    assert (rights(inside), rights(inside / "log"), rights(outside)) == (0o700, 0o600, 0o644)
    repair_rights(tmp_path / "not there")


def test_a_file_written_whole_is_its_owners(tmp_path: Path) -> None:
    assert rights(write_whole("text", tmp_path / "report.html")) == 0o600


def test_data_lie_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERSIGHT_DATA", str(tmp_path / "own"))
    assert data_dir() == tmp_path / "own"
    monkeypatch.delenv("OVERSIGHT_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "shared"))
    assert data_dir() == tmp_path / "shared" / "oversight"
    assert os.access(data_dir(), os.W_OK)
