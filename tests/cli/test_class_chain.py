"""Results by class through the commands: tables, JSON, settings, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.test_expert_quality import lay_out

Oversight = Callable[..., Any]
COSTS = "truth,red,green,blue,black\nred,0,9,9,9\ngreen,1,0,1,1\nblue,1,1,0,1\nblack,1,1,1,0\n"


def test_estimate_and_compare_tell_results_by_class(
    begin: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin("partitioned", {"good": (0.9, 200), "fair": (0.5, 200)})
    Path("costs.csv").write_text(COSTS)
    plain = oversight("estimate")["models"]["good"]
    assert "classes" not in plain
    found = oversight(
        "estimate", "--set", "estimate.metrics=recall,macro_f1", "--set", "estimate.costs=costs.csv"
    )["models"]["good"]
    assert found["estimates"] == plain["estimates"]
    made = found["classes"]
    assert list(made["estimates"]) == [f"recall[{c}]" for c in ("red", "green", "blue", "black")] + [
        "macro_f1",
        "cost",
    ]
    assert made["undefined"] == {}
    assert made["estimates"]["macro_f1"]["holds"]
    results = oversight(
        "compare", "--by-class", "--set", "estimate.metrics=macro_f1", "--set", "estimate.costs=costs.csv"
    )["results"]
    assert results["macro_f1"][0]["verdict"] == "good" == results["cost"][0]["verdict"]
    with Path("study.toml").open("a") as file:
        file.write('[estimate]\nmetrics = ["recall", "macro_f1"]\ncosts = "costs.csv"\n')
    assert oversight("estimate")["models"]["good"] == found
    oversight("report", "page.html")
    assert "recall[black]" in Path("page.html").read_text()


def test_impossible_values_are_refused_by_name(begin: Callable[..., None], oversight: Oversight) -> None:
    begin("partitioned", {"good": (0.9, 200), "fair": (0.5, 200)})
    assert "'fbeta' is not" in oversight("estimate", "--set", "estimate.metrics=fbeta", code=2)["error"]
    both = oversight("estimate", "--set", "estimate.metrics=f1", "--joint", "--estimators", "paper", code=2)[
        "error"
    ]
    assert "estimators, joint: not possible together with results by class" in both
    assert (
        "--test"
        in oversight("compare", "--by-class", "--set", "estimate.metrics=f1", "--test", "sign", code=2)[
            "error"
        ]
    )
    assert "costs.csv" in oversight("estimate", "--set", "estimate.costs=costs.csv", code=2)["error"]
    for old, new, told in (
        ("truth,red", "truth,rde", "costs.csv:2 [rde]: 'rde' is none of the study's classes"),
        ("blue,1,1", "blue,1,", "costs.csv:4 [green]: must be a number, is empty"),
        ("black,1,1,1,0\n", "", "costs.csv: no row for the class 'black'"),
        ("green,1,0", "red,1,0", "costs.csv:3 [truth]: the class 'red' occurs twice"),
    ):
        Path("costs.csv").write_text(COSTS.replace(old, new))
        assert told in oversight("estimate", "--set", "estimate.costs=costs.csv", code=2)["error"]


def test_a_run_that_is_not_finished_says_so(begin: Callable[..., None], oversight: Oversight) -> None:
    begin("partitioned", {"good": (0.9, 200), "part": (0.9, 120)})
    made = oversight("estimate", "--set", "estimate.metrics=macro_recall")["models"]["part"]["classes"]
    assert not made["estimates"]["macro_recall"]["holds"]
    (pair,) = oversight("compare", "--by-class", "--set", "estimate.metrics=macro_recall")["results"][
        "macro_recall"
    ]
    assert not pair["holds"]
    assert "were not run with every model" in pair["why"]


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ('gold = "gold.csv"\ngold_share = 0.4\n', "experts err, and this number is not corrected for it"),
        ("sensitivity = [0.8, 1.0]\n", "experts may err at the rates in study.toml"),
    ],
)
def test_results_by_class_say_that_experts_err(
    extra: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    lay_out(tmp_path, extra)
    monkeypatch.chdir(tmp_path)
    made = oversight("estimate", "--set", "estimate.metrics=precision")["models"]["good"]["classes"][
        "estimates"
    ]
    assert all(told in e["why"] and not e["holds"] for e in made.values())
    assert len(made) == 4
    results = oversight("compare", "--by-class", "--set", "estimate.metrics=macro_f1")["results"]
    assert told in results["macro_f1"][0]["why"]
