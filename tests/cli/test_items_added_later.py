"""Items that are added to a study after the draw, and have no question yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.agents.search.item_splits import collect_labels
from oversight.harness.analysis import OpenStudy
from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.store import Store

CLASSES = ("red", "green", "blue")
FIRST, ALL = 120, 240
Oversight = Callable[..., Any]


def write_items(number: int) -> None:
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},shade {j}\n" for j in range(number)))


def import_predictions(oversight: Oversight, number: int, model: str = "m") -> None:
    """The model is right on the first items and wrong on the added ones."""
    rows = [f"i{j},{CLASSES[(j + (j >= FIRST)) % 3]}\n" for j in range(number)]
    Path("m.csv").write_text("id,prediction\n" + "".join(rows))
    oversight("predictions", "import", "m.csv", "--model", model)


def ask(oversight: Oversight, *options: str) -> None:
    oversight("label", "route", *options)
    oversight("label", "simulate", "--key", "key.csv")


def start(oversight: Oversight, protocol: str, *options: str) -> None:
    """Answer all questions about the first items, then add the others."""
    write_items(FIRST)
    Path("key.csv").write_text("id,label\n" + "".join(f"i{j},{CLASSES[j % 3]}\n" for j in range(ALL)))
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    )
    Path("study.toml").write_text(
        f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {list(CLASSES)}\n'
        f'[experts]\nprotocol = "{protocol}"\n'
    )
    import_predictions(oversight, FIRST)
    ask(oversight, *options)
    assert oversight("estimate")["models"]["m"]["accuracy"]["estimate"] > 0.9
    write_items(ALL)


@pytest.mark.parametrize("options", [(), ("--questions", "90")])
def test_no_number_covers_items_that_were_added_after_the_draw(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    start(oversight, "partitioned", *options)
    import_predictions(oversight, ALL)
    why = "120 of the predicted items, for example 'i120', were added after the draw and have no question"
    found = oversight("estimate")["models"]["m"]
    assert found["accuracy"] is None
    assert why in found["undefined"]["ml"]
    assert found["items"]["unasked"] == ALL - FIRST
    gate = oversight("gate", "--model", "m", "--at-least", "0.8", code=None)
    assert gate["verdict"] == "undecided"
    assert why in gate["checks"][0]["why"]
    oversight("report")
    assert "were added after the draw" in Path("report.html").read_text()
    # the estimate about the first items is still possible
    import_predictions(oversight, FIRST)
    assert oversight("estimate")["models"]["m"]["accuracy"]["holds"]


def test_questions_about_the_added_items_give_the_estimate_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    start(oversight, "partitioned")
    import_predictions(oversight, ALL)
    assert "label route" in oversight("estimate")["models"]["m"]["undefined"]["ml"]
    ask(oversight)
    found = oversight("estimate")["models"]["m"]["accuracy"]
    assert found["low"] < 0.5 < found["high"]


def test_added_items_are_unresolved_in_a_sequential_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    start(oversight, "sequential")
    import_predictions(oversight, ALL)
    found = oversight("estimate")["models"]["m"]
    assert found["accuracy"] is None
    assert "120 of 240 items, such as 'i120', are not resolved yet" in found["undefined"]["resolved"]
    assert oversight("gate", "--model", "m", "--at-least", "0.8", code=None)["verdict"] == "undecided"
    ask(oversight)
    assert oversight("estimate")["models"]["m"]["accuracy"]["estimate"] == 0.5


def test_models_without_the_added_items_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    start(oversight, "partitioned")
    import_predictions(oversight, ALL)
    import_predictions(oversight, ALL, "n")
    assert main(["compare"]) == 2
    assert "were added after the draw and have no question" in capsys.readouterr().err
    import_predictions(oversight, FIRST, "n")
    assert oversight("compare")["comparisons"]


@pytest.mark.parametrize("options", [(), ("--questions", "90")])
def test_judges_and_searches_use_the_first_items(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    start(oversight, "partitioned", *options)
    rows = [f"i{j},{CLASSES[j % 3]},{0.6 + j % 4 / 10}\n" for j in range(FIRST)]
    Path("judge.csv").write_text("id,prediction,confidence\n" + "".join(rows))
    oversight("predictions", "import", "judge.csv", "--model", "judge")
    before = oversight("judge", "--judge", "judge")
    import_predictions(oversight, ALL, "more")
    assert oversight("judge", "--judge", "judge")["judges"] == before["judges"]
    study = read_study("study.toml")
    with Store(study.store_url) as store:
        part, _ = collect_labels(OpenStudy(study, store).labels)
    assert len(part) == (90 if options else FIRST)
