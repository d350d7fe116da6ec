"""Items files whose line ends change, for example by git's autocrlf, contain the same items."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main

CLASSES = ("red", "green", "blue")
N = 30
Oversight = Callable[..., Any]


def write_items(end: str, ids: str) -> None:
    head = "id,text" if ids else "text"
    rows = [f'{f"i{j}," if ids else ""}"Shade {j}\nin two lines"' for j in range(N)]
    Path("items.csv").write_bytes(("\n".join([head, *rows]) + "\n").replace("\n", end).encode())


@pytest.fixture(params=["id", ""], ids=["ids", "no ids"])
def ids(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A study without items; the column of its items' ids."""
    monkeypatch.chdir(tmp_path)
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    )
    write_study("")
    return str(request.param)


def write_study(more: str) -> None:
    Path("study.toml").write_text(
        f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {list(CLASSES)}\n{more}'
    )


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_other_line_ends_do_not_make_other_items(end: str, ids: str, oversight: Oversight) -> None:
    write_items("\n", ids)
    assert oversight("label", "route")["new"] == N
    if end == "\r":  # only within a text
        lines = Path("items.csv").read_text()
        Path("items.csv").write_bytes(lines.replace("\nin two", "\rin two").encode())
    else:
        write_items(end, ids)
    found = oversight("label", "route")
    assert (found["new"], found["questions"]) == (0, N)


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_items_that_an_older_version_stored_are_not_asked_about_again(
    end: str,
    ids: str,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_items("\r\n", ids)
    with monkeypatch.context() as older:
        older.setattr("oversight.harness.datasets.item_files.join_lines", str)
        assert oversight("label", "route")["new"] == N
    with closing(sqlite3.connect("study.db")) as connection:
        stored = dict(connection.execute("SELECT id, text FROM item"))
    assert all("\r\n" in text for text in stored.values())
    key = (f"{name},{CLASSES[int(text.split()[1]) % 3]}\n" for name, text in stored.items())
    Path("key.csv").write_text("id,label\n" + "".join(key))
    write_items(end, ids)
    found = oversight("label", "route")
    assert (found["new"], found["questions"]) == (0, N)
    write_study('cluster = "@text"\n')
    rows = "".join(f'"Shade {j}\nin two lines",{CLASSES[j % 3]}\n' for j in range(N))
    Path("m.csv").write_text("text,prediction\n" + rows)
    assert oversight("predictions", "import", "m.csv", "--model", "m")["items"] == N
    oversight("label", "simulate", "--key", "key.csv")
    capsys.readouterr()
    assert main(["estimate"]) == 0
    assert "no longer in items.csv" not in capsys.readouterr().err
    assert oversight("estimate")["models"]["m"]["accuracy"]["holds"]
