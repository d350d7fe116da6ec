"""A column is named in [items] meta after questions were drawn: it is taken up from the items' file."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main

Oversight = Callable[..., Any]
CLASSES = ("red", "green")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Path:
    """Questions are drawn and answered, a model's answers are in; no meta was named."""
    monkeypatch.chdir(tmp_path)
    rows = [[f"i{j}", f"item {j}", CLASSES[j % 2], "day" if j < 40 else "night"] for j in range(80)]
    with Path("mine.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", "text", "label", "shift"], *rows])
    roster = "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    Path("experts.toml").write_text(roster)
    write_study("")
    Path("model.csv").write_text(
        "id,prediction\n" + "".join(f"{i},{c if i[1] != '3' else 'red'}\n" for i, _, c, _ in rows)
    )
    oversight("label", "route")
    oversight("predictions", "import", "model.csv", "--model", "m")
    oversight("label", "simulate", "--key", "mine.csv")
    return tmp_path


def write_study(meta: str) -> None:
    items = f'[items]\nfile = "mine.csv"\nclasses = {list(CLASSES)}\n{meta}\n'
    Path("study.toml").write_text(f'[study]\nname = "t"\n{items}')


def test_a_column_named_later_gives_strata(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--set", "estimate.strata=shift"]) == 2
    assert "name it in [items] meta" in capsys.readouterr().err
    write_study('meta = ["shift"]')
    assert oversight("estimate", "--set", "estimate.strata=shift")["models"]
    assert oversight("label", "route")["new"] == 0


def test_texts_and_options_still_may_not_change(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_study('meta = ["shift"]')
    Path("mine.csv").write_text(Path("mine.csv").read_text().replace("item 7,", "item seven,"))
    assert main(["estimate", "--set", "estimate.strata=shift"]) == 2
    assert "'i7' is stored with another text" in capsys.readouterr().err


def test_the_stored_column_is_kept(study: Path, oversight: Oversight) -> None:
    write_study('meta = ["shift"]')
    oversight("label", "route")
    Path("mine.csv").write_text(Path("mine.csv").read_text().replace("night", "late"))
    write_study('meta = ["shift", "label"]')
    oversight("label", "route")
    from oversight.harness.store import Store

    with Store("sqlite:///study.db") as store:
        items = store.content.read_items()
    assert {item.meta["shift"] for item in items} == {"day", "night"}
    assert items[1].meta == {"shift": "day", "label": "green"}
