"""The verdicts of a gate: what they rest on, when they are withheld, and that they only ever need more."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oversight.harness.columns import (
    ABSTAINED,
    YES,
    ItemPool,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    align_models,
)
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import (
    FAIL,
    PASS,
    UNDECIDED,
    accuracy,
    binomial_at_least,
    gate_accuracy,
    gate_at_look,
    gate_difference,
)
from oversight.harness.estimate.anytime import likelihood_sequence
from oversight.harness.estimate.evaluation import growing_accuracy
from oversight.harness.estimate.gate import (
    GateVerdict,
    accuracy_gains,
    difference_gains,
    gather_asked,
    judge,
    refuting_wealth,
    resolved_ends,
    worst_p_values,
)
from oversight.harness.estimate.sample_size import outcomes_to_settle
from oversight.harness.types import PLACES, Item, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Disagreement, Partitioned, Sequential, Targeted, one_expert_per_class

CLASSES = ("red", "green", "blue", "black")
ROSTER = one_expert_per_class(CLASSES)
RULES: dict[str, Any] = {"targeted": Targeted, "sequential": Sequential, "disagreement": Disagreement}


def study(
    protocol: str, rates: tuple[float, ...], n: int = 300, unreadable: float = 0.0
) -> tuple[list[PredictionColumns], LabelColumns]:
    """Predictions of models with such accuracies, and all answers."""
    rng = np.random.default_rng(5)
    items = [Item(f"i{j}", "t", CLASSES, (0, 1, 2, 3)) for j in range(n)]
    truth = {item.id: int(k) for item, k in zip(items, rng.integers(4, size=n), strict=True)}
    models = []
    for rate in rates:
        said = [k if rng.random() < rate else (k + int(rng.integers(1, 4))) % 4 for k in truth.values()]
        blank = rng.random(n) < unreadable
        models.append(
            [
                Prediction(i.id, None, PredictionStatus.UNREADABLE) if no else Prediction(i.id, k)
                for i, k, no in zip(items, said, blank, strict=True)
            ]
        )
    votes = {f"m{m}": {p.item_id: p.option for p in rows} for m, rows in enumerate(models)}
    rule = RULES.get(protocol)
    plan: Any = Partitioned(ROSTER, seed=1) if rule is None else rule(ROSTER, votes, seed=1)
    questions = plan.route(items)
    answers, drawn = [], list(questions)
    while questions:
        answers += SimulatedExperts(truth, seed=2).answer(questions)
        questions = plan.next_questions(items, answers) if plan.statement.asks_on else []
        drawn += questions
    return align_models(
        models, plan.decode(answers, drawn) if plan.statement.asks_on else plan.decode(answers)
    )


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "sequential"])
def test_a_model_far_from_the_bar_passes_or_fails(protocol: str) -> None:
    (model,), labels = study(protocol, (0.8,), 400)
    above, below = gate_accuracy(model, labels, 0.6), gate_accuracy(model, labels, 0.95)
    assert (above.verdict, below.verdict) == (PASS, FAIL)
    assert above.further is None
    near = gate_accuracy(model, labels, round(above.value, 3) - 0.005)
    assert near.verdict == UNDECIDED
    assert near.why
    assert near.further is None or near.further > 100


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "sequential", "disagreement"])
def test_a_difference_is_judged_by_every_protocol(protocol: str) -> None:
    (good, poor), labels = study(protocol, (0.9, 0.5), 400)
    assert gate_difference(good, poor, labels, -0.02).verdict == PASS
    assert gate_difference(poor, good, labels, -0.02).verdict == FAIL


def test_models_that_never_differ_pass_once_there_are_enough_items() -> None:
    for n, verdict in ((100, UNDECIDED), (400, PASS)):
        (model,), labels = study("targeted", (0.7,), n)
        assert gate_difference(model, model, labels, -0.02).verdict == verdict


@pytest.mark.parametrize("bar", [0.6, 0.8])
def test_with_one_number_of_options_the_bets_are_likelihood_ratios(bar: float) -> None:
    (model,), labels = study("partitioned", (0.8,))
    gains = accuracy_gains(*gather_asked(labels, [model]), bar)
    hit, yes = model.option[labels.item] == labels.option, labels.kind == 1
    right, wrong = int((hit & yes).sum()), int((hit != yes).sum())
    refused, A = len(labels) - right - wrong, bar + 0.05
    ratio = right * math.log(A / bar) + wrong * math.log((1 - A) / (1 - bar))
    ratio += refused * math.log((A + 2) / (bar + 2))
    information = (4 * bar + 2) / (4 * bar * (1 - bar) * (bar + 2))
    # an outcome is the likelihood's score divided by its information
    assert np.log1p(0.05 * information * gains.sums).sum() == pytest.approx(ratio, abs=1e-6)
    assert likelihood_sequence(right, wrong, [refused], [4]).low < gains.value


def test_outcomes_are_unbiased_for_any_accuracy_and_stay_within_their_bounds() -> None:
    for protocol in ("partitioned", "targeted"):
        models, labels = study(protocol, (0.8, 0.6), 4000, unreadable=0.1)
        truth = [0.72, 0.54]
        for model, value in zip(models, truth, strict=True):
            gains = accuracy_gains(*gather_asked(labels, [model]), 0.5)
            assert gains.value == pytest.approx(value, abs=0.045)
            assert gains.low <= gains.sums.min()
            assert gains.sums.max() <= gains.high
        gains = difference_gains(*gather_asked(labels, models), -0.1)
        assert gains.value == pytest.approx(truth[0] - truth[1], abs=0.06)
        assert gains.low <= gains.sums.min()
        assert gains.sums.max() <= gains.high


def test_the_counted_part_only_grows() -> None:
    """More answers never reduce the number of counted items, and never change the bounds."""
    models, labels = study("disagreement", (0.8, 0.6), 300)
    rng, before, ends = np.random.default_rng(1), 0, set[tuple[float, float]]()
    order = rng.permutation(len(labels))
    for n in range(20, len(labels) + 1, 10):
        gains = difference_gains(*gather_asked(labels.take(order[:n]), models), -0.02)
        assert len(gains.sums) >= before
        before, ends = len(gains.sums), ends | {(gains.low, gains.high)}
    assert len(ends) == 1
    assert len(difference_gains(*gather_asked(labels, models), -0.02).sums) == 300


def test_wealth_of_bets_does_not_grow_on_the_wrong_side() -> None:
    """Exact expectation over a coin at the bar, and below it."""
    n, bar = 12, 0.7
    for p in (0.7, 0.5, 0.0):
        mean = 0.0
        for k in range(n + 1):
            gains = np.array([1 - bar] * k + [-bar] * (n - k))
            mean += math.comb(n, k) * p**k * (1 - p) ** (n - k) * refuting_wealth(gains, -bar)
        assert mean <= 1 + 1e-9


@pytest.mark.parametrize(("n", "bar", "share"), [(40, -0.02, 0.1), (100, -0.02, 0.3), (100, -0.1, 0.15)])
def test_the_exact_test_of_a_resolved_difference_keeps_its_level(n: int, bar: float, share: float) -> None:
    """Enumerated: P(p ≤ .05) at the bar, either side."""
    up, down = (share + bar) / 2, (share - bar) / 2
    wrong = [0.0, 0.0]
    for plus in range(n + 1):
        for minus in range(n + 1 - plus):
            rest = n - plus - minus
            log = math.lgamma(n + 1) - sum(math.lgamma(k + 1) for k in (plus, minus, rest))
            log += plus * math.log(up) + minus * math.log(down) + rest * math.log(1 - share)
            if log < -18:
                continue
            votes = np.repeat([1, -1, 0], [plus, minus, rest])
            for side, p in enumerate(worst_p_values(votes, votes, None, bar, -1)):
                wrong[side] += math.exp(log) * (p <= 0.05)
    assert max(wrong) <= 0.05


def test_resolved_verdicts_stay_whatever_the_open_items_turn_out_to_be() -> None:
    (model,), labels = study("sequential", (0.85,), 300)
    found = [gate_accuracy(model, labels.take(np.arange(n)), 0.7).verdict for n in range(50, len(labels), 10)]
    first = found.index(PASS)
    assert set(found[first:]) == {PASS}
    assert found[0] == UNDECIDED


def test_an_unfinished_run_and_silent_experts_are_undecided() -> None:
    (model,), labels = study("partitioned", (0.9,), 200)
    option = model.option.copy()
    option[3] = -3
    half = gate_accuracy(replace(model, option=option), labels, 0.5)
    assert half.verdict == UNDECIDED
    assert "not finished: 1 item" in half.why
    heard = np.flatnonzero(labels.questions.expert != labels.questions.expert[0])
    silent = gate_accuracy(model, labels.take(heard), 0.5)
    assert silent.verdict == UNDECIDED
    assert "has not answered yet" in silent.why


def test_disagreement_questions_give_no_verdict_on_one_model() -> None:
    models, labels = study("disagreement", (0.8, 0.6), 100)
    assert "only where two models differ" in gate_accuracy(models[0], labels, 0.5).why


@pytest.mark.parametrize("bar", [0.0, 1.0, 80.0, float("nan")])
def test_a_bar_is_a_share(bar: float) -> None:
    (model,), labels = study("targeted", (0.9,), 20)
    with pytest.raises(EstimateError, match="bar must lie"):
        gate_accuracy(model, labels, bar)


def test_a_planned_look_is_judged_by_its_interval() -> None:
    (model,), labels = study("targeted", (0.85,), 300)
    once = gate_at_look({"m": model}, labels, 0.8, look=(1, 1))
    assert math.isnan(once.p_below)
    assert once.low < once.value < once.high
    third = gate_at_look({"m": model}, labels, 0.8, look=(1, 3))
    assert third.low < once.low
    assert third.method == "look 1 of 3"
    assert gate_at_look({"m": model}, labels, 0.7, look=(1, 1)).verdict == PASS
    assert gate_at_look({"m": model}, labels, 0.95, look=(1, 1)).verdict == FAIL


def test_unsure_answers_do_not_count_at_a_planned_look_either() -> None:
    (model,), labels = study("partitioned", (0.85,), 300)
    unsure = replace(labels, kind=np.where(np.arange(len(labels)) < 40, ABSTAINED, labels.kind))
    gates = [gate_at_look({"m": model}, unsure, 0.5, look=(1, 1)), gate_accuracy(model, unsure, 0.5)]
    assert [gate.answers for gate in gates] == [260, 260]


def test_the_forecast_grows_towards_the_bar_and_is_honest_on_it() -> None:
    near, far = (outcomes_to_settle(m, 0.16) for m in (0.02, 0.1))
    assert near > 20 * far
    assert outcomes_to_settle(0.1, 0.16, looks=False) < far
    assert math.isinf(outcomes_to_settle(0.0, 0.16))


def test_forecast_is_no_single_answer_if_the_evidence_is_weak() -> None:
    known = GateVerdict(bar=0.5, level=0.95, method="any time", answers=200)
    gains = np.tile([0.5, 0.5, -0.5], 67)[:200]
    need = judge(replace(known, answers=20), 0.62, 0.9, gains[:20]).further
    assert need is not None
    later = judge(known, 0.62, 0.9, gains).further
    assert later is not None
    assert later > need / 2


def test_small_clusters_do_not_count_before_large_ones() -> None:
    """The model is right on all clusters of one item, which are complete first, and wrong on all others."""
    (model,), labels = study("targeted", (0.5,), 800)
    right = np.zeros(labels.index.size, np.bool_)
    right[labels.item[labels.kind == YES]] = True
    clusters = {
        name: name if is_right else f"c{j // 8}"
        for j, (name, is_right) in enumerate(zip(labels.index.ids, right.tolist(), strict=True))
    }
    labels = replace(labels, cluster=ItemValues.of(clusters, labels.index))
    assert labels.drawn is not None
    order = labels.answers[np.argsort(labels.drawn.place)]
    for n in range(100, 801, 100):
        found = gate_accuracy(model, labels.take(order[:n]), float(right.mean()), checks=False)
        assert found.verdict == UNDECIDED, n
    assert found.answers == 800


def test_items_added_to_a_sequential_study_get_a_smaller_part_of_the_error() -> None:
    (model,), labels = study("sequential", (0.8,), 300)
    assert labels.drawn is not None
    late = labels.drawn.item >= 100
    grown = replace(labels, drawn=replace(labels.drawn, place=labels.drawn.place + late * PLACES))
    right = resolved_ends(labels, [model])[1]
    alone, both = (binomial_at_least(int(right[:n].sum()), n, 0.7) for n in (100, 300))
    assert gate_accuracy(model, labels, 0.7).p_below == pytest.approx(both / 0.8)
    assert gate_accuracy(model, grown, 0.7).p_below == pytest.approx(min(alone / 0.8, both / 0.16))


def test_forecast_expects_answers_to_the_last_open_questions() -> None:
    (model,), labels = study("partitioned", (0.85,), 1000)
    assert labels.drawn is not None
    order = labels.answers[np.argsort(labels.drawn.place)]
    almost, whole = (gate_accuracy(model, labels.take(order[:n]), 0.82) for n in (985, 1000))
    assert almost.open_questions == 15
    assert almost.further is not None
    assert whole.further is not None
    assert 0.5 < almost.further / whole.further < 2


@pytest.mark.parametrize("pool", [True, False])
def test_items_on_which_the_asked_model_was_unreadable_stay_in_a_sequential_study(*, pool: bool) -> None:
    """A later model is judged on all items, although items without a question are unresolved."""
    items = [Item(f"i{j}", "t", ("red", "green"), (0, 1)) for j in range(200)]
    truth = {item.id: j % 2 for j, item in enumerate(items)}
    blank = {f"i{j}" for j in range(0, 200, 5)}
    votes = {i: None if i in blank else k for i, k in truth.items()}
    plan = Sequential(one_expert_per_class(("red", "green")), {"first": votes}, seed=1)
    questions = plan.route(items)
    labels = plan.decode(SimulatedExperts(truth).answer(questions), questions)
    if pool:
        labels = labels.drawn_from(dict.fromkeys(truth, "all"), pool_size=200)
    later = [Prediction(i, 1 - k if i in blank else k) for i, k in truth.items()]
    assert gate_accuracy(later, labels, 0.9).verdict == UNDECIDED
    with pytest.raises(EstimateError, match="40 of 200 items, such as 'i0', are not resolved yet"):
        accuracy(later, labels)


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "sequential"])
def test_weights_go_together_with_clusters_unless_items_were_drawn_several_times(protocol: str) -> None:
    """Items that the model answers wrongly stand for three times as many items of the pool."""
    (model,), labels = study(protocol, (0.8,), 400)
    right = resolved_right(labels, model)
    pool = ItemPool(
        stratum=np.zeros(400, np.int64), size=800, weight=np.where(right, 1.0, 3.0), batch=np.ones(400, int)
    )
    pairs = {name: f"c{j // 2}" for j, name in enumerate(labels.index.ids)}
    labels = replace(labels, pool=pool, cluster=ItemValues.of(pairs, labels.index))
    share = right.sum() / (right.sum() + 3 * (~right).sum())
    assert gate_accuracy(model, labels, share, checks=False).verdict == UNDECIDED
    assert gate_accuracy(model, labels, share - 0.45, checks=False).verdict == PASS
    assert gate_accuracy(model, labels, share + 0.35, checks=False).verdict == FAIL
    twice = replace(labels, pool=replace(pool, batch=np.arange(400) // 200 + 1))
    assert "drawn several times" in gate_accuracy(model, twice, 0.1).why


def resolved_right(labels: LabelColumns, model: PredictionColumns) -> Any:
    """Whether the model is right on every item: `study` gives item j the same truth for every protocol."""
    truth = np.random.default_rng(5).integers(4, size=labels.index.size)
    return model.option == truth


def test_curve_has_its_share_of_unreadable_predictions_from_the_start() -> None:
    (model,), labels = study("sequential", (0.8,), 800, unreadable=0.3)
    early, *_, (_, whole) = growing_accuracy(model, labels, 4)
    assert early[1].low < whole.value < early[1].high


def test_clusters_without_a_question_count_in_no_order_of_the_file() -> None:
    """Items on which the models agree are independent in the first half of the file, and in fours later."""
    (one, other), labels = study("disagreement", (0.9, 0.5), 2400)
    agreed = np.flatnonzero(~labels.asked)
    number = np.arange(labels.index.size)
    sizes = np.repeat((1, 4), agreed.size // 2)
    number[agreed] = 5000 + np.repeat(np.arange(sizes.size), sizes)[: agreed.size]
    clusters = dict(zip(labels.index.ids, map(str, number.tolist()), strict=True))
    labels = replace(labels, cluster=ItemValues.of(clusters, labels.index))
    assert labels.drawn is not None
    turn = labels.answers[np.argsort(labels.drawn.place)]
    bar = gate_difference(one, other, labels, 0.0, checks=False).value
    for share in (0.5, 0.75, 1.0):
        part = labels.take(turn[: round(share * turn.size)])
        assert gate_difference(one, other, part, bar, checks=False).verdict == UNDECIDED
