"""While questions are open: the share that every expert has reached, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import harness as h
from harness import NotIdentified
from harness.estimate import decode
from harness.estimate.routed.from_labels import FEW_OPEN
from harness.types import Answer, Label, LabelKind, Question, Verdict
from protocols.collect import SimulatedExperts
from tests.estimate.test_one_call import ITEMS, MODELS, PREDICTIONS, PROTOCOLS, TRUTH
from tests.records import collected_part, draw_order

IDS = [item.id for item in ITEMS]
QUESTIONS: dict[str, list[Question]] = {
    name: list(PROTOCOLS[name].route(ITEMS)) for name in ("partitioned", "targeted", "disagreement")
}
ANSWERED = ("partitioned", "targeted")


def place(question: Question) -> int:
    """Where a question stands in the order of the draw."""
    return draw_order(Label(question.item_id, question.option, LabelKind.ABSTAINED, 4, 0.25))


def collect(name: str, **reached: float) -> h.Labels:
    """Labels where experts have answered a share of their questions, in the order of the items; else all."""
    questions = QUESTIONS[name]
    asked = Counter(q.expert for q in questions)
    done: Counter[str] = Counter()
    kept = []
    for q in questions:
        done[q.expert] += 1
        if done[q.expert] <= round(reached.get(q.expert, 1.0) * asked[q.expert]):
            kept.append(q)
    labels: h.Labels = decode(SimulatedExperts(TRUTH).answer(kept), questions)
    return labels


EXPERTS = sorted({q.expert for q in QUESTIONS["partitioned"]})


def by_expert(labels: Sequence[Label]) -> Counter[str]:
    return Counter(x.expert for x in labels)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_whole_collection_and_a_plain_list_are_taken_as_they_are(name: str) -> None:
    labels = collect(name)
    assert collected_part(labels, IDS) == (labels, ())
    part = list(collect(name, **{EXPERTS[0]: 0.5}))
    assert collected_part(part, IDS) == (part, ())


@pytest.mark.parametrize("name", ANSWERED)
def test_an_expert_who_is_silent_leaves_nothing_to_estimate(name: str) -> None:
    labels = collect(name, **{EXPERTS[2]: 0.0})
    with pytest.raises(NotIdentified, match=f"{EXPERTS[2]} has not answered yet .*no random part"):
        collected_part(labels, IDS)
    with pytest.raises(NotIdentified, match="not answered yet"):
        h.accuracy(PREDICTIONS["good"], labels)
    found = h.accuracies(PREDICTIONS["good"], labels)
    assert dict(found) == {}
    assert list(found.undefined) == [{"partitioned": "ml", "targeted": "routed"}[name]]
    with pytest.raises(NotIdentified, match="not answered yet"):
        h.compare(PREDICTIONS, labels)


def test_several_silent_experts_are_named() -> None:
    labels = collect("partitioned", **dict.fromkeys(EXPERTS[:4], 0.0))
    with pytest.raises(NotIdentified, match=", ".join(EXPERTS[:3])):
        collected_part(labels, IDS)


@pytest.mark.parametrize("name", ANSWERED)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_everybodys_answers_are_cut_to_the_share_of_the_slowest(name: str, share: float) -> None:
    labels = collect(name, **{EXPERTS[1]: share})
    part, (flag,) = collected_part(labels, IDS)
    asked = Counter(q.expert for q in QUESTIONS[name])
    kept = by_expert(part)
    reached = by_expert(labels)[EXPERTS[1]] / asked[EXPERTS[1]]
    assert kept[EXPERTS[1]] == by_expert(labels)[EXPERTS[1]]
    for expert, n in asked.items():
        assert abs(kept[expert] - reached * n) <= 1
    assert flag.startswith(f"partial: {len(part)} of {len(labels)} answers used, the {reached:.0%}")
    assert EXPERTS[1] in flag
    estimate = h.accuracy(PREDICTIONS["good"], labels)
    assert flag in estimate.flags
    assert estimate.n.ordinary + estimate.n.complementary == len(part)
    assert flag in h.compare(PREDICTIONS, labels).pairs[0].flags


def test_what_is_kept_depends_on_the_draw_and_not_on_arrival() -> None:
    labels = collect("partitioned", **{EXPERTS[0]: 0.4})
    mixed = list(labels)
    np.random.default_rng(3).shuffle(mixed)  # type: ignore[arg-type]  # a list
    here, there = (collected_part(x, IDS)[0] for x in (labels, h.Labels(mixed, labels.design)))
    assert {x.item_id for x in here} == {x.item_id for x in there}
    fast = [x for x in here if x.expert == EXPERTS[1]]
    dropped = [x for x in labels if x.expert == EXPERTS[1] and x not in fast]
    assert max(map(draw_order, fast)) < min(map(draw_order, dropped))


def test_a_few_open_questions_are_counted_and_cut_nothing() -> None:
    questions = QUESTIONS["partitioned"]
    few = int(FEW_OPEN * len(questions))
    experts = SimulatedExperts(TRUTH)
    labels = decode(experts.answer(questions[few:]), questions)
    part, flags = collected_part(labels, IDS)
    assert part is labels
    assert flags == (f"open_questions: {few} of {len(questions)}",)
    estimate = h.accuracy(PREDICTIONS["good"], labels)
    assert flags[0] in estimate.flags
    assert estimate.n.unlabelled == few
    more = decode(experts.answer(questions[few + 1 :]), questions)
    assert len(collected_part(more, IDS)[0]) < len(more)


def test_a_few_open_questions_of_one_expert_are_a_share_of_his() -> None:
    """Four in 240 are few, but not if he was asked no more than these."""
    questions = QUESTIONS["partitioned"]
    mine = [q for q in questions if q.expert == EXPERTS[0]][:6]
    rest = [q for q in questions if q.expert != EXPERTS[0]]
    labels = decode(SimulatedExperts(TRUTH).answer([*mine[:3], *rest]), [*mine, *rest])
    assert FEW_OPEN * len([*mine, *rest]) >= 3
    part, (flag,) = collected_part(labels, IDS)
    assert "the 50% that every expert has reached" in flag
    assert len(part) < 0.6 * len(labels)


@pytest.mark.parametrize("verdict", [None, Verdict.SKIP])
def test_a_question_left_long_ago_does_not_hold_the_rest(verdict: Verdict | None) -> None:
    """Each expert left the first of the draw open, or skipped it; one has reached half of the others."""
    questions = QUESTIONS["partitioned"]
    first = {e: min((q for q in questions if q.expert == e), key=place).id for e in EXPERTS}
    mine = [q for q in questions if q.expert == EXPERTS[0]]
    slow = {q.id for q in mine[len(mine) // 2 :]}
    answers = [
        a
        for a in SimulatedExperts(TRUTH).answer(questions)
        if a.question.id not in slow and a.question.id not in first.values()
    ]
    if verdict is not None:
        answers += [
            Answer(question=q, expert=q.expert, verdict=verdict, source="test")
            for q in questions
            if q.id in first.values() and q.id not in slow
        ]
    part, _ = collected_part(decode(answers, questions), IDS)
    asked, kept = Counter(q.expert for q in questions), by_expert(part)
    for expert in EXPERTS:
        assert kept[expert] >= 0.4 * asked[expert]


def test_only_the_items_of_a_model_count() -> None:
    """What is open on items that the model was not run on holds nothing up."""
    labels = collect("partitioned", **{EXPERTS[0]: 0.5})
    open_ = {q.item_id for q in QUESTIONS["partitioned"]} - {x.item_id for x in labels}
    assert collected_part(labels, set(IDS) - open_) == (labels, ())


def test_questions_that_follow_from_answers_are_not_cut() -> None:
    questions = PROTOCOLS["sequential"].route(ITEMS)
    mine = [q for q in questions if q.expert == EXPERTS[0]]
    labels = decode(SimulatedExperts(TRUTH).answer(mine), questions)
    assert collected_part(labels, IDS) == (labels, ())
    with pytest.raises(h.EstimateError, match="are not resolved yet"):
        h.accuracy(PREDICTIONS["good"], labels)


def test_the_common_share_is_not_bent_by_who_is_fast() -> None:
    """The first expert's items are those the model has wrong; all others were slow."""
    wrong = {i for i, t in TRUTH.items() if MODELS["good"][i] != t}
    slow = dict.fromkeys(EXPERTS[1:], 0.3)
    labels = collect("targeted", **slow)
    naive = np.mean([x.item_id not in wrong for x in labels])
    kept = collected_part(labels, IDS)[0]
    part = np.mean([x.item_id not in wrong for x in kept])
    whole = 1 - len(wrong) / len(TRUTH)
    share = {e: n / len(labels) for e, n in by_expert(labels).items()}
    assert share[EXPERTS[0]] > 0.4
    asked = Counter(q.expert for q in QUESTIONS["targeted"])
    for expert, n in by_expert(kept).items():
        assert n / len(kept) == pytest.approx(asked[expert] / len(ITEMS), abs=0.02)
    assert abs(part - whole) < 0.1
    assert 0 < naive < 1


def test_an_expert_with_one_question_does_not_hold_the_rest() -> None:
    questions = QUESTIONS["partitioned"]
    alone = questions[0]
    drawn = [replace(alone, expert="visitor"), *questions[1:]]
    labels = decode(SimulatedExperts(TRUTH).answer(drawn[1:]), drawn)
    part, flags = collected_part(labels, IDS)
    assert part is labels
    assert flags == (f"open_questions: 1 of {len(drawn)}",)
