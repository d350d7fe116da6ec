"""Scores written for inspect-ai contain the study's estimate; a part of them gives none."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oversight.harness import BadInput, ConfigError, inspect_metric
from oversight.harness.analysis import unpack_scores
from oversight.harness.config import read_study
from oversight.harness.store import Store
from tests.analysis.test_gold_on_items import OWN_ITEMS, TRUTH, N, add_model
from tests.analysis.test_gold_on_items import lay_out as lay_out_gold
from tests.house.measure import ROOT
from tests.studies.opened import copy_study

STUDIES = ROOT / "tests" / "studies"
NUMBERS = ("estimate", "low", "high", "se")
MAIN = ("ml", "routed", "resolved")
MODELS = [
    ("partitioned", "careful"),
    ("partitioned", "quick"),
    ("targeted", "good"),
    ("sequential", "poor"),
    ("mixed", "small"),
]

SETTINGS: list[dict[str, str]] = [
    {"estimate": 'strata = "ward"\nlevel = 0.9'},
    {"estimate": 'strata = "confidence"'},
    {"items": 'cluster = "patient"'},
]


@pytest.fixture
def lay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Copy a frozen study, with more in its section [estimate] or [items]."""

    def copy(study: str, **more: str) -> None:
        monkeypatch.chdir(copy_study(study, tmp_path))
        text = Path("study.toml").read_text(encoding="utf-8")
        for section, line in more.items():
            head = f"[{section}]\n"
            text = text.replace(head, head + line + "\n") if head in text else f"{text}\n{head}{line}\n"
        Path("study.toml").write_text(text, encoding="utf-8")
        if "items" not in more:
            return
        with Path("items.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        with Path("items.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, [*rows[0], "patient"])
            writer.writeheader()
            writer.writerows({**row, "patient": f"p{j // 4}"} for j, row in enumerate(rows))

    return copy


def read(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("study", "model", "more"),
    [
        *((study, model, {}) for study, model in MODELS),
        *(("partitioned", "quick", more) for more in SETTINGS),
    ],
)
def test_the_scores_give_the_estimate_of_the_study(
    study: str, model: str, more: dict[str, str], lay_out: Callable[..., None], oversight: Callable[..., Any]
) -> None:
    lay_out(study, **more)
    written = oversight("predictions", "scores", "scores.jsonl", "--model", model)
    records = read("scores.jsonl")
    shown = oversight("estimate", "--model", model)["models"][model]["estimates"]
    expected = next(shown[name] for name in MAIN if name in shown)
    found = unpack_scores([record["metadata"] for record in records])
    assert (found.accuracy, found.low, found.high, found.stderr) == tuple(expected[n] for n in NUMBERS)
    assert (found.level, found.why == "") == (expected["level"], expected["holds"])
    assert written["estimate"]["estimate"] == expected["estimate"]
    assert len(records) == written["right"] + written["wrong"]


def test_a_sample_is_right_wrong_or_left_unscored(
    lay_out: Callable[..., None], oversight: Callable[..., Any]
) -> None:
    lay_out("partitioned")
    oversight("predictions", "scores", "scores.jsonl", "--model", "quick")
    seen = set()
    with Store(read_study("study.toml").store_url) as store:
        said = {a.question.item_id: a for a in store.content.read_answers()}
        texts = {item.id: item.options for item in store.content.read_items()}
    for record in read("scores.jsonl"):
        answer = said[record["id"]]
        option = texts[record["id"]][answer.question.option]
        same = record["answer"] == option
        assert record["explanation"] == f"experts on {option!r}: {answer.verdict}"
        assert record["value"] == ("C" if same and answer.verdict == "yes" else "I")
        assert same or answer.verdict == "yes" or record["answer"] is None
        seen.add(record["value"])
    assert seen == {"C", "I"}
    assert "expert-" not in Path("scores.jsonl").read_text(encoding="utf-8")


def test_a_part_of_the_scores_is_refused(lay_out: Callable[..., None], oversight: Callable[..., Any]) -> None:
    lay_out("partitioned")
    oversight("predictions", "scores", "quick.jsonl", "--model", "quick")
    oversight("predictions", "scores", "careful.jsonl", "--model", "careful")
    one, other = ([r["metadata"] for r in read(f)] for f in ("quick.jsonl", "careful.jsonl"))
    with pytest.raises(BadInput, match=rf"{len(one) - 1} of {len(one)} scores, because"):
        unpack_scores(one[1:])
    with pytest.raises(BadInput, match="from several files"):
        unpack_scores([*one, other[0]])
    with pytest.raises(BadInput, match="score 1 was not made by `oversight"):
        unpack_scores([None])
    estimate = one[0]["oversight"]["estimate"] | {"low": "none"}
    with pytest.raises(BadInput, match=r"score 1 \[metadata.oversight.estimate.low\]"):
        unpack_scores([{"oversight": {"item": "i", "estimate": estimate}}])


def measure(file: str) -> dict[str, float]:
    """Return what the metric computes from a file of scores."""
    scores = [SimpleNamespace(score=SimpleNamespace(metadata=r["metadata"])) for r in read(file)]
    return inspect_metric.make_metric()(scores)


def test_the_metric_gives_the_number_that_gold_corrects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    study = lay_out_gold(tmp_path, OWN_ITEMS)
    add_model(study, "plain", np.where(np.arange(N) % 3, TRUTH, 0))
    monkeypatch.chdir(tmp_path)
    oversight("predictions", "scores", "scores.jsonl", "--model", "plain")
    shown = oversight("estimate", "--model", "plain")["models"]["plain"]["estimates"]["corrected"]
    names = {"accuracy": "estimate", "low": "low", "high": "high", "stderr": "se"}
    found = measure("scores.jsonl")
    assert {ours: found[ours] for ours, theirs in names.items() if shown[theirs] is not None} == {
        ours: shown[theirs] for ours, theirs in names.items() if shown[theirs] is not None
    }
    assert found["holds"] == shown["holds"]


def test_the_metric_and_the_command_tell_that_an_interval_may_not_hold(
    lay_out: Callable[..., None], oversight: Callable[..., Any]
) -> None:
    lay_out("partitioned")
    written = oversight("predictions", "scores", "scores.jsonl", "--model", "quick")
    assert "have no yes or no" in written["estimate"]["why"]
    with pytest.warns(UserWarning, match="quick: the interval may not hold: 4 of 53 questions have no yes"):
        assert measure("scores.jsonl")["holds"] == 0


def test_a_log_without_scores_is_refused_and_nothing_is_written(
    lay_out: Callable[..., None], oversight: Callable[..., Any]
) -> None:
    lay_out("panel")
    told = oversight("predictions", "scores", "scores.jsonl", "--model", "m", code=2)
    assert "scores need experts' yes/no answers" in told["error"]
    assert not Path("scores.jsonl").exists()


def test_the_metric_is_there_without_inspect_ai_until_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", None)
    with pytest.raises(ConfigError, match="pip install inspect-ai"):
        _ = inspect_metric.expert_accuracy
    assert not hasattr(inspect_metric, "other")
