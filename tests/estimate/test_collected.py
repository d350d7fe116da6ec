"""While questions are open: the share that every expert has reached, and what was passed over in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest

import oversight as ov
from oversight.harness import NotIdentified
from oversight.harness.columns import LabelColumns, align_models
from oversight.harness.estimate import GoldCounts, decode
from oversight.harness.estimate import collected_part as cut
from oversight.harness.estimate.routed_sample import FEW_OPEN
from oversight.harness.types import PLACES, Label, Note, NoteKind, Question
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, one_expert_per_class, order_queue
from tests.estimate.test_one_call import ITEMS, MODELS, PREDICTIONS, PROTOCOLS, TRUE, TRUTH

IDS = [item.id for item in ITEMS]
QUESTIONS: dict[str, list[Question]] = {
    name: list(PROTOCOLS[name].route(ITEMS)) for name in ("partitioned", "targeted", "disagreement")
}
ANSWERED = ("partitioned", "targeted")
EXPERTS = sorted({q.expert for q in QUESTIONS["partitioned"]})


def queues_of(questions: Sequence[Question]) -> dict[str, list[Question]]:
    """The questions of every expert in the order in which they are handed out."""
    found = defaultdict[str, list[Question]](list)
    for question in questions:
        found[question.expert].append(question)
    return {expert: [q for q in order_queue(own) if isinstance(q, Question)] for expert, own in found.items()}


def answer(questions: Sequence[Question], open_: Collection[str]) -> ov.Labels:
    """Labels of all questions but those of these ids."""
    labels: ov.Labels = decode(
        SimulatedExperts(TRUTH).answer(q for q in questions if q.id not in open_), questions
    )
    return labels


def reach(name: str, **reached: float) -> ov.Labels:
    """Labels where experts have answered the first share of their queues; all of it by default."""
    open_ = set[str]()
    for expert, queue in queues_of(QUESTIONS[name]).items():
        open_.update(q.id for q in queue[round(reached.get(expert, 1.0) * len(queue)) :])
    return answer(QUESTIONS[name], open_)


def collected(labels: Sequence[Label]) -> tuple[LabelColumns, tuple[Note, ...]]:
    columns = align_models([], labels)[1]
    return cut(columns, np.ones(columns.index.size, np.bool_))


def passed_over(number: int, of: int) -> Note:
    return Note(NoteKind.PASSED_OVER, {"passed": number, "of": of})


def by_expert(labels: Sequence[Label]) -> Counter[str]:
    return Counter(x.expert for x in labels)


def count_kept(part: LabelColumns) -> Counter[str]:
    """Answers of every expert that are used; those that were passed over are none."""
    rows = np.flatnonzero(~part.passed) if part.passed is not None else np.arange(len(part))
    return Counter(part.questions.experts[e] for e in part.questions.expert[rows].tolist())


@pytest.mark.parametrize("name", ANSWERED)
def test_complete_labels_and_plain_lists_are_taken_as_they_are(name: str) -> None:
    part, notes = collected(reach(name))
    assert (part.passed, notes) == (None, ())
    plain = list(reach(name, **{EXPERTS[0]: 0.5}))
    part, notes = collected(plain)
    assert (len(part), notes) == (len(plain), ())


@pytest.mark.parametrize("name", ANSWERED)
def test_an_expert_who_is_silent_leaves_nothing_to_estimate(name: str) -> None:
    labels = reach(name, **{EXPERTS[2]: 0.0})
    with pytest.raises(NotIdentified, match=f"{EXPERTS[2]} has not answered yet .*not a random part"):
        collected(labels)
    with pytest.raises(NotIdentified, match="not answered yet"):
        ov.accuracy(PREDICTIONS["good"], labels)
    found = ov.accuracies(PREDICTIONS["good"], labels)
    assert dict(found) == {}
    assert list(found.undefined) == [{"partitioned": "ml", "targeted": "routed"}[name]]
    with pytest.raises(NotIdentified, match="not answered yet"):
        ov.compare(PREDICTIONS, labels)


def test_several_silent_experts_are_named() -> None:
    labels = reach("partitioned", **dict.fromkeys(EXPERTS[:4], 0.0))
    with pytest.raises(NotIdentified, match=", ".join(EXPERTS[:3])):
        collected(labels)


@pytest.mark.parametrize("name", ANSWERED)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_everybodys_answers_are_cut_to_the_share_of_the_slowest(name: str, share: float) -> None:
    labels = reach(name, **{EXPERTS[1]: share})
    part, (note,) = collected(labels)
    asked = Counter(q.expert for q in QUESTIONS[name])
    kept = count_kept(part)
    reached = by_expert(labels)[EXPERTS[1]] / asked[EXPERTS[1]]
    assert part.passed is None
    assert kept[EXPERTS[1]] == by_expert(labels)[EXPERTS[1]]
    for expert, n in asked.items():
        assert abs(kept[expert] - reached * n) <= 1
    assert note.kind is NoteKind.PARTIAL
    assert (note.data["used"], note.data["answered"]) == (len(part), len(labels))
    assert note.data["slowest"] == EXPERTS[1]
    estimate = ov.accuracy(PREDICTIONS["good"], labels)
    assert note in estimate.notes
    assert estimate.n.ordinary + estimate.n.complementary == len(part)
    assert note in ov.compare(PREDICTIONS, labels).pairs[0].notes


def test_the_kept_part_is_the_start_of_every_queue() -> None:
    labels = reach("partitioned", **{EXPERTS[0]: 0.4})
    mixed = list(labels)
    np.random.default_rng(3).shuffle(mixed)  # type: ignore[arg-type]  # a list
    here, there = (collected(x)[0] for x in (labels, ov.Labels(mixed, labels.design)))
    kept, again = ({part.index.ids[i] for i in part.item.tolist()} for part in (here, there))
    assert kept == again
    for queue in queues_of(QUESTIONS["partitioned"]).values():
        inside = [q.item_id in kept for q in queue]
        assert inside == sorted(inside, reverse=True)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_question_left_blank_counts_like_an_unsure_one(name: str) -> None:
    questions = QUESTIONS[name]
    blank = {q.id for queue in queues_of(questions).values() for q in queue[:-1:4]}
    part, (note,) = collected(answer(questions, blank))
    assert note == passed_over(len(blank), len(questions))
    assert part.passed is not None
    assert int(part.passed.sum()) == len(blank)
    found = ov.accuracies(PREDICTIONS["good"], answer(questions, blank))
    main = {"partitioned": "ml", "targeted": "routed"}[name]
    assert "worst_case" in found
    assert found[main].n.unlabelled == len(blank)
    assert found[main].n.abstained == 0
    assert not found[main].holds
    assert found["worst_case"].holds


@pytest.mark.parametrize("name", ANSWERED)
def test_every_open_question_is_missing_where_the_order_is_not_known(name: str) -> None:
    drawn = [replace(q, place=None) for q in QUESTIONS[name]]
    open_ = {q.id for queue in queues_of(QUESTIONS[name]).values() for q in queue[len(queue) // 2 :]}
    part, (note,) = collected(answer(drawn, open_))
    assert note == passed_over(len(open_), len(drawn))
    assert len(part) == len(drawn)
    assert not ov.accuracy(PREDICTIONS["good"], answer(drawn, open_)).holds


def test_a_question_on_the_screen_is_not_passed_over() -> None:
    questions = QUESTIONS["partitioned"]
    queues = queues_of(questions)
    on_screen = {q.id for queue in queues.values() for q in queue[len(queue) // 2 :]}
    on_screen -= {queue[len(queue) // 2 + 2].id for queue in queues.values()}
    part, notes = collected(answer(questions, on_screen))
    assert part.passed is None
    assert [note.kind for note in notes] == [NoteKind.PARTIAL]
    further = on_screen - {queue[len(queue) // 2 + 3].id for queue in queues.values()}
    part, notes = collected(answer(questions, further))
    assert part.passed is not None


def test_a_few_open_questions_are_missing_and_cut_nothing() -> None:
    questions = QUESTIONS["partitioned"]
    few = int(FEW_OPEN * len(questions))
    last = [queue[-1].id for queue in queues_of(questions).values()]
    labels = answer(questions, last[:few])
    part, notes = collected(labels)
    assert len(part) == len(questions)
    assert notes == (passed_over(few, len(questions)),)
    assert ov.accuracy(PREDICTIONS["good"], labels).n.unlabelled == few


def test_a_few_open_questions_of_one_expert_are_a_share_of_the_experts_own() -> None:
    """Four in 240 are few, but not if the expert was asked no more than these."""
    queues = queues_of(QUESTIONS["partitioned"])
    mine = queues[EXPERTS[0]][:6]
    rest = [q for q in QUESTIONS["partitioned"] if q.expert != EXPERTS[0]]
    labels = answer([*mine, *rest], {q.id for q in mine[3:]})
    assert FEW_OPEN * len([*mine, *rest]) >= 3
    part, (note,) = collected(labels)
    assert (note.kind, note.data["share"]) == (NoteKind.PARTIAL, 0.5)
    assert len(part) < 0.6 * len(labels)


def test_only_the_items_of_a_model_count() -> None:
    """Open questions on items that the model did not answer do not delay the interim subset."""
    columns = align_models([], reach("partitioned", **{EXPERTS[0]: 0.5}))[1]
    part, notes = cut(columns, columns.labelled)
    assert part is columns
    assert notes == ()


def test_questions_that_follow_from_answers_are_not_cut() -> None:
    questions = PROTOCOLS["sequential"].route(ITEMS)
    mine = [q for q in questions if q.expert == EXPERTS[0]]
    labels = decode(SimulatedExperts(TRUTH).answer(mine), questions)
    assert collected(labels)[1] == ()
    with pytest.raises(ov.EstimateError, match="are not resolved yet"):
        ov.accuracy(PREDICTIONS["good"], labels)


def test_fast_experts_do_not_bias_the_common_share() -> None:
    """The first expert's items are those the model has wrong; all others were slow."""
    wrong = {i for i, t in TRUTH.items() if MODELS["good"][i] != t}
    labels = reach("targeted", **dict.fromkeys(EXPERTS[1:], 0.3))
    kept = collected(labels)[0]
    part = np.mean([kept.index.ids[i] not in wrong for i in kept.item.tolist()])
    whole = 1 - len(wrong) / len(TRUTH)
    assert by_expert(labels)[EXPERTS[0]] / len(labels) > 0.4
    asked = Counter(q.expert for q in QUESTIONS["targeted"])
    for expert, n in count_kept(kept).items():
        assert n / len(kept) == pytest.approx(asked[expert] / len(ITEMS), abs=0.02)
    assert abs(part - whole) < 0.1


def test_unanswered_single_question_does_not_limit_the_common_share() -> None:
    questions = QUESTIONS["partitioned"]
    drawn = [replace(questions[0], expert="visitor"), *questions[1:]]
    part, notes = collected(answer(drawn, {questions[0].id}))
    assert len(part) == len(drawn)
    assert notes == (passed_over(1, len(drawn)),)


def add_items(first: int, number: int) -> list[Question]:
    """Questions of a study about `first` items, and about the others as a later draw, with their places."""
    rule = Partitioned(one_expert_per_class(ITEMS[0].options), 7)
    early, late = rule.route(ITEMS[:first]), rule.route(ITEMS[first:number])
    return [*early, *(replace(q, place=PLACES + (q.place or 0)) for q in late)]


def test_answers_about_the_first_items_say_nothing_of_items_added_later() -> None:
    questions = add_items(120, 240)
    late = {q.id for q in questions if (q.place or 0) >= PLACES}
    with pytest.raises(NotIdentified, match="not answered any question about the items added later"):
        collected(answer(questions, late))


def test_first_and_added_items_count_at_the_same_share() -> None:
    questions = add_items(120, 240)
    open_ = set[str]()
    for queue in queues_of([q for q in questions if (q.place or 0) >= PLACES]).values():
        open_.update(q.id for q in queue[len(queue) // 2 :])
    labels = answer(questions, open_)
    part, notes = collected(labels)
    first = {item.id for item in ITEMS[:120]}
    kept = Counter(part.index.ids[i] in first for i in part.item.tolist())
    assert abs(kept[True] - kept[False]) <= len(EXPERTS)
    assert notes[0].kind is NoteKind.PARTIAL_WITH_ADDED


def test_an_expert_who_goes_on_to_added_items_has_passed_over_open_first_ones() -> None:
    questions = add_items(120, 240)
    open_ = set[str]()
    for queue in queues_of([q for q in questions if (q.place or 0) < PLACES]).values():
        open_.update(q.id for q in queue[len(queue) // 2 :])
    part, notes = collected(answer(questions, open_))
    assert notes == (passed_over(len(open_), len(questions)),)
    assert part.passed is not None
    assert np.count_nonzero(part.passed) == len(open_)


def half_done(seed: int, asked: int) -> ov.Labels:
    """Labels of a study with several questions per item; every expert has answered half of the queue."""
    questions = Partitioned(one_expert_per_class(ITEMS[0].options), seed, asked).route(ITEMS)
    queues = queues_of(questions).values()
    return answer(questions, {q.id for queue in queues for q in queue[len(queue) // 2 :]})


@pytest.mark.parametrize("asked", [2, 4])
def test_items_whose_questions_are_partly_answered_count(asked: int) -> None:
    labels, good = half_done(1, asked), PREDICTIONS["good"]
    several = Counter(x.item_id for x in labels)
    assert 0 < sum(number < asked for number in several.values()) < len(ITEMS)
    gold = GoldCounts(yes_on_true=100, n_true=100, no_on_false=100, n_false=100)
    apart = labels.clustered({item.id: item.id for item in ITEMS})
    for found in (ov.accuracy(good, labels), ov.accuracy(good, labels, gold=gold), ov.accuracy(good, apart)):
        assert found.low <= TRUE["good"] <= found.high
        assert found.n.ordinary + found.n.complementary == len(labels)
    (pair,) = ov.compare(PREDICTIONS, labels).pairs
    assert pair.low <= TRUE["good"] - TRUE["poor"] <= pair.high
    assert pair.items == len(several)


@pytest.mark.parametrize("asked", [2, 4])
def test_partly_answered_items_do_not_bias(asked: int) -> None:
    wanted, found = TRUE["good"] - TRUE["poor"], []
    for seed in range(20):
        labels = half_done(seed, asked)
        accuracy = ov.accuracy(PREDICTIONS["good"], labels, checks=False).value
        found.append((accuracy - TRUE["good"], ov.compare(PREDICTIONS, labels).pairs[0].difference - wanted))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(mean) < 4 * error).all()
