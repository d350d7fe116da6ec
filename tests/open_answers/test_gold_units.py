"""Gold of open answers: every row fits a unit, and labels do not change once questions are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.store import Store
from tests.open_answers.open_study import KEY, lay_out
from tests.open_answers.test_campaign import read_truth

Oversight = Callable[..., Any]
GOLD = '[experts]\ngold = "gold.csv"'
HEADER = "item,model,unit,label"
OTHER = {"yes": "no", "no": "yes"}


def write_gold(*, right: bool = True, n: int = 40) -> None:
    """Write the first `n` units of the model amber, with their true labels or all labels inverted."""
    key = [(*unit, label) for unit, label in read_truth().items() if unit[1] == "amber"][:n]
    rows = [f'{item},{model},"{unit}",{label if right else OTHER[label]}' for item, model, unit, label in key]
    Path("gold.csv").write_text("\n".join([HEADER, *rows]) + "\n")


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Callable[..., None]:
    def run(more: str = GOLD) -> None:
        monkeypatch.chdir(tmp_path)
        lay_out(tmp_path, oversight, more, ("amber",))

    return run


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("Open-01,amber,says that CT uses ionising X-rays,yes", "gold.csv:2 [item]: 'Open-01' is no item"),
        ("open-01,ambre,says that CT uses ionising X-rays,yes", "gold.csv:2 [model]: 'ambre' has no answer"),
        (
            "open-01,amber,says that CT uses ionizing X-rays,yes",
            "gold.csv:2 [unit]: 'says that CT uses ioniz",
        ),
        ("open-01,amber,says that CT uses ionising X-rays,maybe", "gold.csv:2 [label]: must be yes or no"),
        ("", "gold.csv: the file contains no gold units"),
    ],
)
def test_rows_that_fit_no_unit_are_refused_before_the_draw(
    begin: Callable[..., None], capsys: pytest.CaptureFixture[str], row: str, told: str
) -> None:
    begin()
    Path("gold.csv").write_text(f"{HEADER}\n{row}\n")
    capsys.readouterr()
    assert main(["label", "route"]) == 2
    assert told in capsys.readouterr().err
    with Store(read_study("study.toml").store_url) as store:
        assert store.open_answers.read_draw() == []
        assert store.controls.read_gold_items() == {}


def test_two_labels_of_a_unit_are_refused(
    begin: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    begin()
    row = "open-01,amber,says that CT uses ionising X-rays"
    Path("gold.csv").write_text(f"{HEADER}\n{row},yes\n{row},no\n")
    assert main(["label", "route"]) == 2
    assert "gold.csv:3 [label]: the unit" in capsys.readouterr().err


def test_changed_gold_is_refused_and_removed_gold_still_counts(
    begin: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin()
    write_gold()
    oversight("label", "route")
    oversight("label", "simulate", "--key", KEY)
    before = oversight("estimate")
    measured = before["experts"][0]
    assert measured["yes_for_yes"]["of"] + measured["no_for_no"]["of"] == 40
    assert oversight("store", "verify")["findings"] == []
    write_gold(right=False)
    capsys.readouterr()
    for words in (["estimate"], ["label", "route"], ["gate", "--at-least", "0.5", "--model", "amber"]):
        assert main(words) == 2
        assert "gold.csv:2 [label]: the truth of the unit" in capsys.readouterr().err
    Path("gold.csv").unlink()
    assert oversight("estimate") == before


def test_gold_that_is_added_later_must_be_stored_first(
    begin: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin()
    write_gold(n=10)
    oversight("label", "route")
    oversight("label", "simulate", "--key", KEY)
    write_gold(n=12)
    capsys.readouterr()
    assert main(["estimate"]) == 2
    assert "gold.csv:12 [label]: the truth of this unit is not stored yet" in capsys.readouterr().err
    oversight("label", "route")
    measured = oversight("estimate")["experts"][0]
    assert measured["yes_for_yes"]["of"] + measured["no_for_no"]["of"] == 12
    assert oversight("store", "verify")["findings"] == []
