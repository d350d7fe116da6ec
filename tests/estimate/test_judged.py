"""Estimates with judges: narrower where a judge knows something, valid whatever it says, never its word."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ItemIndex, PredictionColumns
from oversight.harness.estimate import JudgeOpinion, judge_probabilities, synthesise_population
from oversight.harness.estimate.routed_sample import RoutedSample
from oversight.harness.estimate.side_information import JUDGED, estimate_working, heard_working
from oversight.harness.types import Item, NoteKind, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, Sequential, Targeted, one_expert_per_class

K, N = 4, 150
CLASSES = tuple(f"class {k}" for k in range(K))
ROSTER = one_expert_per_class(CLASSES)
ITEMS = [Item(f"i{j}", "t", CLASSES, tuple(range(K))) for j in range(N)]
IDS = [item.id for item in ITEMS]
Voice = tuple[IntArray, FloatArray]
"""A judge's option and confidence, shape (N,) each."""


def know(truth: IntArray, rng: np.random.Generator, strength: float = 2.0) -> Voice:
    """A judge with noisy signs of the truth, whose probabilities are those of its signs."""
    signs = rng.normal(size=(len(truth), K)) + strength * (np.arange(K) == truth[:, None])
    weight = np.exp(strength * signs)
    p = weight / weight.sum(axis=1, keepdims=True)
    return p.argmax(axis=1), p.max(axis=1)


def reverse(truth: IntArray, rng: np.random.Generator) -> Voice:
    option, sure = know(truth, rng)
    return option, 1 - sure


def lie(truth: IntArray, rng: np.random.Generator) -> Voice:
    return (truth + 1) % K, rng.random(len(truth))


def say_one_thing(truth: IntArray, rng: np.random.Generator) -> Voice:
    return np.zeros(len(truth), np.int64), np.ones(len(truth))


def say_half(truth: IntArray, rng: np.random.Generator) -> Voice:
    option, sure = know(truth, rng)
    silent = rng.random(len(truth)) < 0.5
    return np.where(silent, -1, option), np.where(rng.random(len(truth)) < 0.5, np.nan, sure)


def rows_of(option: IntArray, sure: FloatArray | None = None) -> list[Prediction]:
    sures = [None] * len(option) if sure is None else [None if np.isnan(s) else float(s) for s in sure]
    return [
        Prediction(name, int(k), confidence=s)
        if k >= 0
        else Prediction(name, None, PredictionStatus.UNREADABLE)
        for name, k, s in zip(IDS, option, sures, strict=True)
    ]


def as_columns(option: IntArray, sure: FloatArray) -> PredictionColumns:
    index = ItemIndex.of([str(j) for j in range(len(option))])
    return PredictionColumns(index=index, option=option, confidence=sure)


def draw(
    seed: int, voice: Callable[..., Voice], accuracy: float = 0.7, protocol: str = "partitioned"
) -> tuple[dict[str, list[Prediction]], ov.Labels, list[Prediction]]:
    """Two models, labels of a study and a judge."""
    rng = np.random.default_rng(seed)
    truth, answers = synthesise_population(N, K, [accuracy, 0.6], rng, correlation=0.5, temptation=0.5)
    options = {f"m{j}": dict(zip(IDS, column.tolist(), strict=True)) for j, column in enumerate(answers.T)}
    one = {"m0": options["m0"]}
    plans: dict[str, Any] = {
        "partitioned": lambda: Partitioned(ROSTER, seed),
        "targeted": lambda: Targeted(ROSTER, options, seed),
        "single": lambda: Targeted(ROSTER, one, seed),
        "sequential": lambda: Sequential(ROSTER, one, seed),
    }
    plan = plans[protocol]()
    said = SimulatedExperts(dict(zip(IDS, truth.tolist(), strict=True))).answer(plan.route(ITEMS))
    models = {f"m{j}": rows_of(column) for j, column in enumerate(answers.T)}
    return models, plan.decode(list(said)), rows_of(*voice(truth, rng))


@pytest.mark.parametrize("accuracy", [0.3, 0.97])
@pytest.mark.parametrize("voice", [know, reverse, lie, say_one_thing, say_half])
def test_intervals_hold_whatever_a_judge_is_worth(voice: Callable[..., Voice], accuracy: float) -> None:
    held, draws = [], 60
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        truth, answers = synthesise_population(N, K, [accuracy], rng)
        asked = rng.integers(0, K, N)
        data = RoutedSample(np.arange(N), asked, (asked == truth).astype(np.float64), np.full((N, K), 1 / K))
        judge = JudgeOpinion.of(as_columns(*voice(truth, rng)))
        estimate = estimate_working(answers[:, 0].astype(np.int64), data, heard_working([judge]))
        held.append(estimate.low <= accuracy <= estimate.high)
    assert np.mean(held) >= 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / draws)


@pytest.mark.parametrize("protocol", ["partitioned", "targeted"])
def test_a_lying_judge_beside_a_good_one_keeps_intervals_valid(protocol: str) -> None:
    for seed in range(5):
        models, labels, judge = draw(seed, know, protocol=protocol)
        liar = draw(seed, lie, protocol=protocol)[-1]
        for made in ov.model_accuracies(models, labels, judges={"a": judge, "b": liar}).values():
            assert made[JUDGED].holds
            assert made[JUDGED].high - made[JUDGED].low < 0.6


@pytest.mark.slow
def test_a_judge_that_knows_saves_questions_and_says_how_many() -> None:
    plain, judged, told = [], [], []
    for seed in range(40):
        models, labels, judge = draw(seed, partial(know, strength=2.5))
        found = ov.model_accuracies({"m0": models["m0"]}, labels, judges={"judge": judge})["m0"]
        plain.append(found["ml"].value - 0.7)
        judged.append(found[JUDGED].value - 0.7)
        (note,) = (n for n in found[JUDGED].notes if n.kind is NoteKind.JUDGE_SAVED)
        told.append(int(note.data["saved"]))
    ratio = np.square(plain).mean() / np.square(judged).mean()
    assert ratio > 1.3
    assert abs(np.mean(judged)) < 3 * np.std(judged) / np.sqrt(len(judged))
    assert np.median(told) / N == pytest.approx(ratio - 1, abs=0.7)
    assert any("answers give as narrow an interval as" in str(note) for note in found[JUDGED].notes)


def test_a_reversed_scale_is_read_the_other_way_round() -> None:
    widths = []
    for voice in (know, reverse):
        models, labels, judge = draw(1, voice)
        found = ov.model_accuracies(models, labels, judges={"judge": judge})["m0"][JUDGED]
        widths.append(found.high - found.low)
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_a_judge_is_no_candidate_and_changes_no_other_number() -> None:
    models, labels, judge = draw(2, lie)
    alone, together = (
        ov.model_accuracies(models, labels),
        ov.model_accuracies(models, labels, judges={"j": judge}),
    )
    assert together.keys() == alone.keys() == models.keys()
    for name, made in together.items():
        assert {n: e for n, e in made.items() if n != JUDGED} == dict(alone[name])


@pytest.mark.parametrize(
    ("protocol", "named"),
    [("sequential", "every item is resolved"), ("single", "decides whether a prediction is right")],
)
def test_reason_is_given_if_a_judge_adds_nothing(protocol: str, named: str) -> None:
    models, labels, judge = draw(3, know, protocol=protocol)
    made = ov.model_accuracies({"m0": models["m0"]}, labels, judges={"j": judge})["m0"]
    assert JUDGED not in made
    assert named in made.undefined[JUDGED]


def test_unsupported_options_are_named() -> None:
    models, labels, judge = draw(4, know)
    for options, named in (
        ({"interval": "wald"}, "interval 'wald'"),
        ({"published": True}, "published"),
    ):
        for made in ov.model_accuracies(models, labels, judges={"j": judge}, **options).values():
            assert JUDGED not in made
            assert made.undefined[JUDGED] == f"a judge is not used together with {named}"


def test_joint_intervals_and_clusters_are_honoured() -> None:
    models, labels, judge = draw(5, know)
    found = [
        ov.model_accuracies(models, labels, judges={"j": judge}, joint=j)["m0"][JUDGED] for j in (False, True)
    ]
    assert found[1].low < found[0].low < found[0].high < found[1].high
    assert "joint: 2 models" in found[1].flags
    patients = labels.clustered({name: str(j // 5) for j, name in enumerate(IDS)})
    made = ov.model_accuracies(models, patients, judges={"j": judge})["m0"][JUDGED]
    assert made.holds
    assert made.low < 0.7 < made.high


def test_single_items_and_unreadable_models_get_wide_or_no_estimates() -> None:
    models, labels, judge = draw(6, know)
    made = ov.model_accuracies({"m0": models["m0"][:1]}, labels, judges={"j": judge})["m0"]
    assert made[JUDGED].high - made[JUDGED].low > 0.9
    mute = [Prediction(name, None, PredictionStatus.UNREADABLE) for name in IDS]
    made = ov.model_accuracies({"m0": mute}, labels, judges={"j": judge})["m0"]
    assert "readable" in made.undefined[JUDGED]
    failed = [Prediction(name, None, PredictionStatus.FAILED) for name in IDS]
    made = ov.model_accuracies({"m0": models["m0"]}, labels, judges={"j": failed})["m0"]
    assert made[JUDGED].holds


def test_probabilities_of_judges_are_cut_spread_and_averaged() -> None:
    index = ItemIndex.of(["a", "b", "c", "d"])
    sure = PredictionColumns(
        index=index, option=np.array([1, 0, -1, 3]), confidence=np.array([1.0, np.nan, np.nan, 0.9])
    )
    found = judge_probabilities([sure], np.array([3, 2, 4, 3]))
    assert found.tolist() == [
        pytest.approx([0.005, 0.99, 0.005, 0]),
        pytest.approx([0.5, 0.5, 0, 0]),
        pytest.approx([0.25] * 4),  # it names none
        pytest.approx([1 / 3] * 3 + [0]),  # the reply names an option that the item does not have
    ]
    silent = PredictionColumns(index=index, option=np.array([0, -2, 2, -3]))
    both = judge_probabilities([sure, silent], np.array([3, 2, 4, 3]))
    assert both[0] == pytest.approx([(0.005 + 0.5) / 2, (0.99 + 0.25) / 2, (0.005 + 0.25) / 2, 0])
    assert both[2] == pytest.approx([1 / 6, 1 / 6, 0.5, 1 / 6])
