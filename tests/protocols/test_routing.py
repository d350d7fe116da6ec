from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from oversight.harness import BadInput, DataError
from oversight.harness.estimate import decode
from oversight.harness.types import Answer, Item, LabelKind, Verdict
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Expert, Partitioned, Roster, one_expert_per_class, read_roster

CLASSES = ("red", "green", "blue", "black")


def many(n: int) -> list[Item]:
    return [Item(f"i{j}", f"t{j}", CLASSES, (0, 1, 2, 3)) for j in range(n)]


def test_every_item_goes_to_the_expert_of_a_uniform_option() -> None:
    questions = Partitioned(one_expert_per_class(CLASSES), seed=5).route(many(4000))
    assert len(questions) == len({q.id for q in questions}) == 4000
    assert {q.propensity for q in questions} == {0.25}
    assert all(q.expert == CLASSES[q.option] for q in questions)
    counts = Counter(q.option for q in questions)
    assert sum((counts[j] - 1000) ** 2 / 1000 for j in range(4)) < 16.3  # chi-square, p = .001


def test_draw_depends_only_on_seed_and_item() -> None:
    roster = one_expert_per_class(CLASSES)
    first = Partitioned(roster, seed=5).route(many(50))
    assert first == Partitioned(roster, seed=5).route(many(80))[:50]
    assert first == Partitioned(roster, seed=5).route(many(50)[::-1])[::-1]
    assert first != Partitioned(roster, seed=6).route(many(50))


def test_several_options_per_item_are_drawn_without_replacement() -> None:
    questions = Partitioned(one_expert_per_class(CLASSES), options_per_item=3).route(many(200))
    assert len({(q.item_id, q.option) for q in questions}) == 600
    assert {q.propensity for q in questions} == {0.75}
    all_of_them = Partitioned(one_expert_per_class(CLASSES), options_per_item=9).route(many(2))
    assert len(all_of_them) == 8
    with pytest.raises(BadInput, match="at least 1"):
        Partitioned(one_expert_per_class(CLASSES), options_per_item=0)


def test_options_of_their_own_go_to_experts_for_anything() -> None:
    items = [Item("a", "t", ("x", "y"), (0, 1)), Item("b", "t", ("u", "v", "w"), (0, 1, 2))]
    questions = Partitioned(Roster((Expert("eva", ("*",)),))).route(items)
    assert [q.propensity for q in questions] == [1 / 2, 1 / 3]


def test_capacity_and_absence_are_kept_and_never_bend_the_draw() -> None:
    pair = Roster(
        (*one_expert_per_class(CLASSES).experts[1:], Expert("a", ("red",), capacity=3), Expert("b", ("red",)))
    )
    questions = Partitioned(pair, seed=1).route(many(100))
    load = Counter(q.expert for q in questions)
    assert load["a"] == 3
    plain = Partitioned(one_expert_per_class(CLASSES), seed=1).route(many(100))
    assert [q.option for q in questions] == [q.option for q in plain]
    full = Roster((*pair.experts[:-1],))
    with pytest.raises(BadInput, match="at capacity"):
        Partitioned(full, seed=1).route(many(100))
    absent = Roster((*pair.experts[:-2], Expert("b", ("red",), absent=True)))
    with pytest.raises(BadInput, match="no expert judges the option 'red'"):
        Partitioned(absent, seed=1).route(many(100))


def test_decode_keeps_the_answer() -> None:
    questions = Partitioned(one_expert_per_class(CLASSES)).route(many(4))
    said = (Verdict.YES, Verdict.NO, Verdict.UNSURE, Verdict.SKIP)
    labels = decode(Answer(q, q.expert, v, "t") for q, v in zip(questions, said, strict=True))
    assert [label.kind for label in labels] == [
        LabelKind.ORDINARY,
        LabelKind.COMPLEMENTARY,
        LabelKind.ABSTAINED,
        LabelKind.ABSTAINED,
    ]
    assert [(b.item_id, b.option, b.n_options, b.propensity) for b in labels] == [
        (q.item_id, q.option, 4, 0.25) for q in questions
    ]


def test_decode_refuses_foreign_and_second_answers() -> None:
    question = Partitioned(one_expert_per_class(CLASSES)).route(many(1))[0]
    with pytest.raises(BadInput, match="but 'mallory' answered"):
        decode([Answer(question, "mallory", Verdict.YES, "t")])
    with pytest.raises(BadInput, match="two answers"):
        decode([Answer(question, question.expert, Verdict.YES, "t")] * 2)


def test_simulated_experts_err_and_abstain_at_their_rates() -> None:
    items = many(8000)
    truth = {item.id: j % 4 for j, item in enumerate(items)}
    questions = Partitioned(one_expert_per_class(CLASSES), seed=2).route(items)
    experts = SimulatedExperts(truth, sensitivity=0.8, specificity=0.95, abstention=0.1, seed=3)
    answers = experts.answer(questions)
    assert answers == experts.answer(questions)
    unsure = np.mean([a.verdict is Verdict.UNSURE for a in answers])
    said = [a for a in answers if a.verdict is not Verdict.UNSURE]
    hits = [a.verdict is Verdict.YES for a in said if truth[a.question.item_id] == a.question.option]
    misses = [a.verdict is Verdict.NO for a in said if truth[a.question.item_id] != a.question.option]
    assert abs(unsure - 0.1) < 0.015
    assert abs(np.mean(hits) - 0.8) < 0.04
    assert abs(np.mean(misses) - 0.95) < 0.013


@pytest.mark.parametrize(
    "rates", [{"sensitivity": 1.1}, {"specificity": -0.1}, {"abstention": 1.0}, {"abstention": 2}]
)
def test_rates_must_be_probabilities(rates: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="must be a probability"):
        SimulatedExperts({}, **rates)  # type: ignore[arg-type]  # all of them are rates


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "not a readable TOML"),
        ("", r"only \[\[expert\]\] entries"),
        ("other = 1", r"only \[\[expert\]\]"),
        ('[[expert]]\nclasses = ["a"]', r"\[expert 1.name\]: an expert needs a name"),
        ('[[expert]]\nname = "x"', r"\[expert 1.classes\]: an expert needs a list"),
        ('[[expert]]\nname = "x"\nclasses = "a"', "must be of type list"),
        ('[[expert]]\nname = "x"\nclasses = ["a"]\ncapacity = 0', "at least 1"),
        ('[[expert]]\nname = "x"\nclasses = ["a"]\nphone = 1', r"\[expert 1.phone\]: unknown key"),
        ('[[expert]]\nname = "x"\nclasses = ["a"]\n' * 2, r"\[expert 2\]: the name 'x' is used twice"),
    ],
)
def test_a_bad_roster_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "experts.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_roster(path)


def test_every_class_needs_an_expert_and_every_expert_a_class() -> None:
    with pytest.raises(DataError, match="no expert is present for the class 'black'"):
        one_expert_per_class(CLASSES[:3]).check(CLASSES)
    with pytest.raises(DataError, match="unknown class 'pink'"):
        one_expert_per_class((*CLASSES, "pink")).check(CLASSES)
    with pytest.raises(DataError, match='classes = \\["\\*"\\]'):
        one_expert_per_class(CLASSES).check(())
