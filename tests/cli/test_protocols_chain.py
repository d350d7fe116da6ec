"""Routing by predictions, from study.toml to estimates and comparisons, against loopback models."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes.openai_server import Reply, fake_openai

N = 240
CLASSES = ("red", "green", "blue", "black")
TRUTH = np.random.default_rng(1).integers(4, size=N)
RATES = {"good": 0.85, "fair": 0.6, "poor": 0.4}
Oversight = Callable[..., Any]


def said(model: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A model's answers: correct at its rate, otherwise another class; `accuracy` omits the last one."""
    rng = np.random.default_rng(len(model) * 7 + ord(model[0]))
    wrong = (TRUTH + rng.integers(1, 4, size=N)) % 4
    return np.where(rng.random(N) < RATES[model], TRUTH, wrong)


def accuracy(model: str) -> float:
    return float(np.mean(said(model)[:-1] == TRUTH[:-1]) * (N - 1) / N)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Callable[..., None]:
    """Lay out a study with the models run and the first questions drawn."""
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},item {j}.\n" for j in range(N)))
    Path("key.csv").write_text("id,label\n" + "".join(f"i{j},{CLASSES[t]}\n" for j, t in enumerate(TRUTH)))
    roster = "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    Path("experts.toml").write_text(roster)

    def lay_out(protocol: str, *models: str) -> None:
        sections = ""
        with ExitStack() as stack:
            for model in models:
                server = stack.enter_context(fake_openai(answering(model)))
                sections += f'[models.{model}]\nendpoint = "{server.url}"\nmodel = "{model}"\n'
            Path("study.toml").write_text(
                f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {list(CLASSES)}\n'
                f'[experts]\nprotocol = "{protocol}"\n{sections}'
            )
            oversight("run")
        oversight("label", "route")
        oversight("label", "simulate", "--key", "key.csv")

    return lay_out


def answering(model: str) -> Callable[[str, int], Reply]:
    options = said(model)

    def answer(prompt: str, _: int) -> Reply:
        j = int(re.findall(r"item (\d+)\.", prompt)[0])
        return Reply("who knows" if j == N - 1 else CLASSES[options[j]])

    return answer


def estimates(oversight: Oversight, *options: str) -> dict[str, dict[str, Any]]:
    models = oversight("estimate", "--open-key", "key.csv", *options)["models"]
    for name, model in models.items():
        assert model["truth"] == pytest.approx(accuracy(name))
    return {name: model["estimates"] for name, model in models.items()}


def test_targeted_asks_about_the_prediction(start: Callable[..., None], oversight: Oversight) -> None:
    start("targeted", "fair")
    # an unreadable prediction counts as wrong without a question
    assert oversight("label", "status")["asked"] == N - 1
    e = estimates(oversight)["fair"]["routed"]
    assert e["estimate"] == pytest.approx(accuracy("fair"))  # every prediction was checked
    assert e["low"] < accuracy("fair") < e["high"]
    assert e["high"] - e["low"] < 0.14


def test_targeted_for_several_models_serves_them_all(
    start: Callable[..., None], oversight: Oversight
) -> None:
    start("targeted", *RATES)
    found = estimates(oversight)
    for name in RATES:
        assert found[name]["routed"]["low"] <= accuracy(name) <= found[name]["routed"]["high"]
    ranking = oversight("compare")["ranking"]
    assert [row["model"] for row in ranking] == ["good", "fair", "poor"]


def test_sequential_resolves_every_item(start: Callable[..., None], oversight: Oversight) -> None:
    start("sequential", "good", "poor")
    message = oversight("estimate")["models"]["good"]["undefined"]["resolved"]
    assert "not resolved yet" in message
    waves = 1
    while oversight("label", "route")["questions"]:
        oversight("label", "simulate", "--key", "key.csv")
        waves += 1
    assert waves == 2  # if the first model's option was refuted, the second model's option is asked about
    found = estimates(oversight)
    for name in ("good", "poor"):
        assert found[name]["resolved"]["estimate"] == pytest.approx(accuracy(name))
    comparison = oversight("compare")["comparisons"][0]
    assert comparison["method"] == "mcnemar"
    assert comparison["difference"] == pytest.approx(accuracy("good") - accuracy("poor"))
    assert comparison["verdict"] == "good"
    assert "needs one drawn option per item" in oversight("compare", "--test", "paired", code=2)["error"]


def test_disagreement_asks_only_where_two_models_differ(
    start: Callable[..., None], oversight: Oversight
) -> None:
    start("disagreement", "good", "fair")
    differ = int((said("good") != said("fair"))[:-1].sum())
    assert oversight("label", "status")["asked"] == differ < N / 2
    comparison = oversight("compare")["comparisons"][0]
    assert comparison["low"] <= accuracy("good") - accuracy("fair") <= comparison["high"]
    assert comparison["items"] == N
    why = oversight("estimate")["models"]["good"]["undefined"]["accuracy"]
    assert "oversight compare" in why


def test_partitioned_compares_too(start: Callable[..., None], oversight: Oversight) -> None:
    start("partitioned", "good", "fair", "poor")
    assert len(oversight("compare")["comparisons"]) == 3
    error = oversight("compare", "--test", "sign", "--model", "good", "--model", "fair", code=2)["error"]
    assert "the sign test cannot count them as wrong" in error
    assert "needs resolved items" in oversight("compare", "--test", "mcnemar", code=2)["error"]
    assert "at least 2 models" in oversight("compare", "--model", "good", code=2)["error"]


def test_options_of_estimate_change_its_interval(start: Callable[..., None], oversight: Oversight) -> None:
    start("partitioned", "fair")
    plain = estimates(oversight)["fair"]["ml"]
    look = estimates(oversight, "--look", "5/5")["fair"]["ml"]
    assert look["low"] < plain["low"] < plain["high"] < look["high"]
    gold = '{"yes_on_true": 98, "n_true": 100, "no_on_false": 297, "n_false": 300}'
    corrected = estimates(oversight, "--gold", gold)["fair"]["corrected"]
    assert corrected["low"] < accuracy("fair") < corrected["high"]
    published = estimates(oversight, "--estimators", "paper")["fair"]
    assert published["ml"]["interval"].startswith("wald")
    wilson = estimates(oversight, "--set", "estimate.interval=clopper_pearson")
    assert "ord" in wilson["fair"]
    anytime = estimates(oversight, "--anytime")["fair"]["anytime"]
    assert anytime["low"] < plain["low"] < plain["high"] < anytime["high"]
    for option, value in (
        ("--look", "7"),
        ("--look", "6/5"),
        ("--gold", "{}"),
        ("--set", "estimate.interval=nope"),
    ):
        assert oversight("estimate", option, value, code=2)["error"]


def test_a_second_draw_with_other_predictions_is_refused(
    start: Callable[..., None], oversight: Oversight
) -> None:
    start("targeted", "good", "fair")
    text = Path("study.toml").read_text()
    Path("study.toml").write_text(text.replace('"targeted"', '"targeted"\nmodels = ["fair"]'))
    assert "start a new study" in oversight("label", "route", code=2)["error"]
    Path("study.toml").write_text(text.replace('"targeted"', '"partitioned"'))
    assert "drawn before by 'targeted'" in oversight("label", "route", code=2)["error"]


def test_report_of_a_sequential_study_names_resolved_items(
    start: Callable[..., None], oversight: Oversight
) -> None:
    start("sequential", "good")
    page = Path(oversight("report", "--open-key", "key.csv")["report"]).read_text()
    assert "Resolved items" in page
