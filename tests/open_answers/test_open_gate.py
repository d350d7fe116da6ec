"""`oversight gate` on studies of open answers: verdicts, what withholds them, planned analyses and files."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from tests.open_answers.open_study import DATA, KEY, lay_out

Oversight = Callable[..., Any]
PAIR = ("gate", "--not-worse-than", "birch", "--margin", "0.05", "--model", "amber")


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Callable[..., None]:
    """Lay out a study whose questions are drawn, and answered unless `answered` is false."""

    def run(more: str = "", *, answered: bool = True, models: tuple[str, ...] = ("amber", "birch")) -> None:
        monkeypatch.chdir(tmp_path)
        lay_out(tmp_path, oversight, more, models)
        oversight("label", "route")
        if answered:
            oversight("label", "simulate", "--key", KEY)

    return run


def test_exit_codes_tell_pass_fail_and_undecided(begin: Callable[..., None], oversight: Oversight) -> None:
    begin()
    passed = oversight("gate", "--at-least", "0.5", "--model", "amber")
    (check,) = passed["checks"]
    assert (passed["verdict"], check["requirement"]) == ("pass", "amber: score at least 50 %")
    estimate = oversight("estimate")
    assert check["value"] == estimate["models"]["amber"]["score"]["value"]
    assert passed["questions"] == {"drawn": estimate["put"], "answered": estimate["put"]}
    failed = oversight("gate", "--at-least", "0.9", "--model", "birch", code=1)["checks"][0]
    assert (failed["verdict"], failed["high"] < 0.9) == ("fail", True)
    near = oversight("gate", "--at-least", "0.85", "--model", "amber", code=3)["checks"][0]
    assert "either side" in near["why"]
    assert near["further"] > 0


def test_model_is_held_against_a_baseline_in_either_order(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin()
    better = oversight(*PAIR, "--look", "1/1")["checks"][0]
    assert better["requirement"] == "amber: at most 5 points worse than birch"
    words = ("gate", "--not-worse-than", "amber", "--margin", "0.05", "--look", "1/1")
    worse = oversight(*words, code=1)["checks"][0]
    assert (worse["model"], worse["value"], worse["low"]) == ("birch", -better["value"], -better["high"])
    both = oversight(*words, "--at-least", "0.2", code=1)
    assert [check["verdict"] for check in both["checks"]] == ["pass", "fail"]


def test_missing_replies_count_for_the_other_side(begin: Callable[..., None], oversight: Oversight) -> None:
    begin(answered=False)
    nothing = oversight("gate", "--at-least", "0.5", "--model", "amber", code=3)
    assert nothing["questions"]["answered"] == 0
    oversight("label", "simulate", "--key", KEY, "--abstention", "0.3")
    (check,) = oversight("gate", "--at-least", "0.8", "--model", "amber", code=3)["checks"]
    assert check["method"] == "worst case"
    assert check["notes"] == [
        f"{check['open_questions']} questions without a yes or no, each counted in the less favourable way"
    ]
    assert oversight("gate", "--at-least", "0.1", "--model", "amber")["verdict"] == "pass"


def test_planned_analysis_is_narrower_and_recorded(begin: Callable[..., None], oversight: Oversight) -> None:
    begin()
    words = ("gate", "--at-least", "0.6", "--model", "amber")
    (always,), (planned,) = (oversight(*words, *look)["checks"] for look in ((), ("--look", "1/1")))
    assert planned["method"] == "look 1 of 1"
    assert always["low"] < planned["low"] < planned["high"] < always["high"]
    assert main([*words, "--look", "1/2"]) == 2


def test_answers_after_the_draw_withhold_a_verdict(begin: Callable[..., None], oversight: Oversight) -> None:
    begin()
    with (DATA / "open_answers.amber.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    with Path("again.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows({**row, "raw": row["raw"] + " Indeed."} for row in rows)
    oversight("predictions", "import", "again.csv", "--model", "amber")
    (check,) = oversight("gate", "--at-least", "0.5", "--model", "amber", code=3)["checks"]
    assert "amber: 40 answers arrived after the draw" in check["why"]


def test_experts_who_err_withhold_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: Callable[..., None], oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    other = {"yes": "no", "no": "yes"}
    with Path(KEY).open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["model"] == "amber"]
    with Path("gold.csv").open("w", encoding="utf-8", newline="") as stream:
        out = csv.DictWriter(stream, list(rows[0]))
        out.writeheader()
        out.writerows(
            {**row, "label": row["label"] if place % 4 else other[row["label"]]}
            for place, row in enumerate(rows)
        )
    begin('[experts]\ngold = "gold.csv"')
    (check,) = oversight("gate", "--at-least", "0.5", "--model", "amber", code=3)["checks"]
    assert "control questions a wrong reply" in check["why"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--at-least 0.5", "which model? there are 'amber', 'birch'"),
        ("--at-least 0.5 --model ambre", "no answer of the model 'ambre' was drawn; did you mean 'amber'?"),
        ("--at-least 80 --model amber", "--at-least: must lie between 0 and 1"),
        ("--not-worse-than amber --margin 0.1 --model amber", "compared with itself"),
    ],
)
def test_bad_bars_are_refused(
    begin: Callable[..., None], capsys: pytest.CaptureFixture[str], words: str, told: str
) -> None:
    begin(answered=False)
    assert main(["gate", *words.split()]) == 2
    assert told in capsys.readouterr().err


def test_gate_before_a_draw_names_the_next_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight)
    assert main(["gate", "--at-least", "0.5"]) == 2
    assert "oversight label route" in capsys.readouterr().err


def test_screen_and_files_name_the_score(
    begin: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    begin()
    files = ("--junit", "gate.xml", "--markdown", "gate.md")
    assert main([*PAIR, "--at-least", "0.5", *files]) == 0
    screen = capsys.readouterr().out
    assert screen.startswith("PASS   gate of Open answers")
    assert "amber: score at least 50 %" in screen
    assert "amber: score at least 50 %" in Path("gate.xml").read_text(encoding="utf-8")
    assert "score at least 50 %" in Path("gate.md").read_text(encoding="utf-8")
