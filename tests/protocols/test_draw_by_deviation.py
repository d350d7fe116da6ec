"""Items drawn by how unsure a judge is: chances are recorded, learned, and weighed by, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.cli.main import main
from oversight.harness.store import Store
from tests.cli.colours import CLASSES, write_colours

N = 120
Oversight = Callable[..., Any]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Path:
    """A study with two models, and a third that is sure where it is right; no question drawn yet."""
    monkeypatch.chdir(tmp_path)
    write_colours(N)
    write_study()
    oversight("items", "check")
    for name, wrong in (("a", 4), ("b", 3), ("wise", 10)):
        rows = [
            {
                "id": f"i{j}",
                "prediction": CLASSES[(j + (j % wrong == 0)) % 3],
                "confidence": 0.5 if j % wrong == 0 else 0.9 + (j * 7 % 100) / 1000,
            }
            for j in range(N)
        ]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        oversight("predictions", "import", f"{name}.jsonl", "--model", name)
    return tmp_path


def write_study(
    draw: str = 'draw = "deviation"',
    judge: str = 'judge = "wise"',
    protocol: str = "targeted",
    models: str = 'models = ["a"]',
    items: str = "",
) -> None:
    Path("study.toml").write_text(
        f'[study]\nname = "t"\nseed = 3\n[items]\nfile = "items.csv"\n{items}\n'
        f"classes = {json.dumps(CLASSES)}\n"
        f'[experts]\nprotocol = "{protocol}"\n{models}\n{draw}\n[models]\n{judge}\n'
    )


def weights(folder: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        pool = store.pool.read_pool(store.columns.read_index())
    assert pool is not None
    assert pool.weight is not None
    assert (pool.weight > 0).tolist() == pool.drawn.tolist()
    return pool.weight[pool.drawn]


def answer(oversight: Oversight) -> None:
    oversight("label", "simulate", "--key", "key.csv")


def test_chances_are_recorded_and_estimates_weigh_by_them(study: Path, oversight: Oversight) -> None:
    routed = oversight("label", "route", "--questions", "40")
    assert routed["questions"] == 40
    assert routed["drawn"][0]["strata"] == "by how unsure the judge 'wise' leaves them"
    found = weights(study)
    assert len(found) == 40
    assert 1 <= found.min() < N / 40 < found.max() <= N / 40 / 0.25 + 1e-6
    assert oversight("label", "route")["new"] == 0
    answer(oversight)
    model = oversight("estimate")["models"]["a"]
    routed_, judged = model["estimates"]["routed"], model["estimates"]["judged"]
    for estimate in (routed_, judged):
        assert estimate["low"] < 0.75 < estimate["high"]
    assert judged["high"] - judged["low"] < routed_["high"] - routed_["low"]


def test_later_draws_learn_from_answers_and_weigh_together(study: Path, oversight: Oversight) -> None:
    oversight("label", "route", "--questions", "40")
    answer(oversight)
    first = weights(study)
    more = oversight("label", "route", "--more", "30")
    assert more["new"] == 30
    assert more["drawn"][1]["strata"] == "by how unsure the judge 'wise' leaves them and 40 answers so far"
    answer(oversight)
    both = weights(study)
    assert len(both) == 70
    assert both.min() >= 1
    for each in (first, both):
        # the weights of the drawn items add up to about the pool's size
        assert each.sum() == pytest.approx(N, rel=0.4)
    assert oversight("estimate")["models"]["a"]["estimates"]["judged"]["low"] < 0.75
    oversight("label", "route", "--more", "500")
    answer(oversight)
    # Every item was drawn, so all items have equal weight again, for all commands.
    estimate = oversight("estimate")["models"]["a"]["estimates"]["routed"]
    assert (estimate["estimate"], estimate["interval"]) == (0.75, "blaker")
    oversight("gate", "--model", "a", "--at-least", "0.1")


def test_draws_of_both_kinds_weigh_together(study: Path, oversight: Oversight) -> None:
    write_study(draw="")
    oversight("label", "route", "--questions", "30")
    answer(oversight)
    write_study()
    oversight("label", "route", "--more", "30")
    answer(oversight)
    assert len(weights(study)) == 60
    estimate = oversight("estimate")["models"]["a"]["estimates"]["routed"]
    assert estimate["low"] < 0.75 < estimate["high"]


def test_estimates_that_need_equal_items_are_refused(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study(models="")
    oversight("label", "route", "--questions", "60")
    answer(oversight)
    capsys.readouterr()
    assert main(["gate", "--model", "a", "--not-worse-than", "b", "--margin", "0.1"]) == 3
    assert "items were drawn with unequal probabilities" in " ".join(capsys.readouterr().out.split())
    # the questions were drawn for both models
    assert main(["gate", "--model", "a", "--at-least", "0.1"]) == 3
    assert "several models' predictions" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("protocol", ["targeted", "sequential"])
def test_a_gate_weighs_items_of_all_draws(protocol: str, study: Path, oversight: Oversight) -> None:
    write_study(protocol=protocol)
    for more in (["--questions", "50"], ["--more", "40"]):
        oversight("label", "route", *more)
        while oversight("label", "simulate", "--key", "key.csv")["new"]:
            oversight("label", "route")
    assert np.ptp(weights(study)) > 0
    found = oversight("gate", "--model", "a", "--at-least", "0.3")
    assert found["verdict"] == "pass"
    assert oversight("gate", "--model", "a", "--at-least", "0.99", code=1)["verdict"] == "fail"
    assert oversight("gate", "--model", "a", "--at-least", "0.75", code=3)["verdict"] == "undecided"


@pytest.mark.parametrize(
    ("protocol", "name"), [("partitioned", "routed"), ("targeted", "routed"), ("sequential", "resolved")]
)
def test_every_protocol_of_accuracies_weighs(
    protocol: str, name: str, study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study(protocol=protocol, models="")
    oversight("label", "route", "--questions", "60")
    while oversight("label", "simulate", "--key", "key.csv")["new"]:
        oversight("label", "route")
    assert np.ptp(weights(study)) > 0
    model = oversight("estimate", "--model", "a")["models"]["a"]
    assert model["estimates"][name]["low"] < 0.75 < model["estimates"][name]["high"]
    assert model["estimates"]["judged"]["low"] < 0.75 < model["estimates"]["judged"]["high"]
    if protocol == "sequential":  # McNemar's test gives all items the same weight
        assert main(["compare"]) != 0
        assert "items were drawn with unequal probabilities" in " ".join("".join(capsys.readouterr()).split())
        return
    pair = oversight("compare", "--model", "a", "--model", "b")["comparisons"][0]
    assert pair["low"] < 0.75 - 2 / 3 < pair["high"]


def test_interim_analyses_while_answers_arrive(study: Path, oversight: Oversight) -> None:
    widths = []
    for more in (["--questions", "40"], ["--more", "30"], ["--more", "30"]):
        oversight("label", "route", *more)
        answer(oversight)
        found = oversight("estimate", "--anytime")["models"]["a"]["estimates"]
        anytime = found["anytime"]
        assert anytime["low"] <= 0.75 <= anytime["high"]
        widths.append(anytime["high"] - anytime["low"])
        assert widths[-1] > found["routed"]["high"] - found["routed"]["low"]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ({"judge": ""}, "the study names none"),
        ({"judge": 'judge = "nobody"'}, "the judge 'nobody' was not run"),
        (
            {"protocol": "disagreement", "models": 'models = ["a", "b"]'},
            "the protocol 'disagreement' cannot use",
        ),
        (
            {"protocol": "partitioned", "models": "options_per_item = 2"},
            "with options_per_item = 2 cannot use",
        ),
        ({"items": 'cluster = "text"'}, "these items are in clusters"),
        ({"draw": 'draw = "deviation"\nrepeat = 0.1'}, "assumes experts who do not err"),
    ],
)
def test_a_draw_that_cannot_be_honoured_is_refused(
    written: dict[str, str], named: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study(**written)
    assert main(["label", "route", "--questions", "20"]) == 2
    assert named in " ".join(capsys.readouterr().err.split())


def test_a_way_to_draw_without_a_draw_is_refused(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["label", "route"]) == 2
    assert "every item is asked about; give --questions" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "sequential"])
def test_a_draw_by_agreement_hears_judges(protocol: str, study: Path, oversight: Oversight) -> None:
    write_study(draw="", protocol=protocol, models='models = ["a", "b"]')
    (draw,) = oversight("label", "route", "--questions", "60")["drawn"]
    assert draw["strata"] == "by the agreement of 3 models and how sure the judge 'wise' is"
    answer(oversight)
    while oversight("label", "route")["new"]:
        answer(oversight)
    for model, right in (("a", 0.75), ("b", 2 / 3)):
        judged = oversight("estimate")["models"][model]["estimates"]["judged"]
        assert judged["low"] < right < judged["high"]
