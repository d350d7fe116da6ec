"""Scores written for inspect-ai carry all that the estimate needs, and nothing made of a part of them."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import BadInput, ConfigError, inspect_metric
from oversight.harness.analysis import estimate_carried, unpack_scores
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
    found = estimate_carried(*unpack_scores([record["metadata"] for record in records]))
    for value, name in zip((found.value, found.low, found.high, found.se), NUMBERS, strict=True):
        assert value == pytest.approx(expected[name], abs=1e-12)
    assert found.interval == expected["interval"]
    assert written["estimate"]["estimate"] == expected["estimate"]
    assert len(records) == written["right"] + written["wrong"]


def test_a_sample_is_right_wrong_or_left_unscored(
    lay_out: Callable[..., None], oversight: Callable[..., Any]
) -> None:
    lay_out("partitioned")
    oversight("predictions", "scores", "scores.jsonl", "--model", "quick")
    seen = set()
    for record in read("scores.jsonl"):
        own = record["metadata"]["oversight"]["items"][0]
        (question,) = own["questions"]
        same = question["option"] == own["prediction"]
        assert own["id"] == record["id"]
        assert record["value"] == ("C" if same and question["verdict"] == "yes" else "I")
        assert same or question["verdict"] == "yes" or own["prediction"] is None
        assert {"option", "propensity", "verdict"} <= question.keys()
        assert own["n_options"] >= 2
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
        unpack_scores([*one, other[0] | {"oversight": other[0]["oversight"] | {"scores": 1}}])
    with pytest.raises(BadInput, match="score 1 was not made by `oversight"):
        unpack_scores([None])
    with pytest.raises(BadInput, match=r"score 1 \[metadata.oversight.scores\]"):
        unpack_scores([{"oversight": one[0]["oversight"] | {"scores": "all"}}])


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
