from __future__ import annotations

from pathlib import Path

import pytest

from oversight.harness import BadInput
from oversight.harness.types import Item, Verdict
from oversight.protocols.collect import export_questions, read_answers
from oversight.protocols.routing import Partitioned, one_expert_per_class

CLASSES = ("red", "green", "blue")
ITEMS = [Item(f"i{j}", f"text {j}, with a comma", CLASSES, (2, 0, 1)) for j in range(60)]
QUESTIONS = Partitioned(one_expert_per_class(CLASSES), seed=3).route(ITEMS)
BY_ID = {item.id: item for item in ITEMS}


def fill(path: Path, verdict: str) -> None:
    path.write_text(path.read_text().replace("?,,\n", f"?,{verdict},\n"))


def test_a_round_trip_brings_every_answer_back(tmp_path: Path) -> None:
    paths = export_questions(QUESTIONS, BY_ID, (), tmp_path / "new")
    assert len(paths) == 3
    assert read_answers(paths, QUESTIONS) == []  # no answer was filled in yet
    for path, verdict in zip(paths, ("YES", " no ", "unsure"), strict=True):
        fill(path, verdict)
    answers = read_answers(paths, QUESTIONS)
    assert {a.question.id for a in answers} == {q.id for q in QUESTIONS}
    assert {a.verdict for a in answers} == {Verdict.YES, Verdict.NO, Verdict.UNSURE}
    assert all(a.expert == a.question.expert for a in answers)


def test_the_order_is_shuffled_per_expert_and_tells_nothing(tmp_path: Path) -> None:
    path = export_questions(QUESTIONS, BY_ID, (), tmp_path)[0]
    lines = path.read_text().splitlines()[1:]
    asked = [f"q-{q.id}" for q in QUESTIONS if q.expert == lines[0].split(",")[1]]
    written = [line.split(",")[0] for line in lines]
    assert written != asked
    assert sorted(written) == sorted(asked)
    header = path.read_text().splitlines()[0]
    assert header == "question_id,expert,text,options,question,answer,comment"


def test_answered_questions_are_not_asked_again(tmp_path: Path) -> None:
    answered = {q.id for q in QUESTIONS[:50]}
    paths = export_questions(QUESTIONS, BY_ID, answered, tmp_path)
    assert sum(len(p.read_text().splitlines()) - 1 for p in paths) == 10


def test_file_is_replaced_only_after_a_complete_import(tmp_path: Path) -> None:
    first = QUESTIONS[:30]
    export_questions(first, BY_ID, (), tmp_path)
    with pytest.raises(BadInput, match="may contain answers"):
        export_questions(QUESTIONS, BY_ID, {q.id for q in first[:29]}, tmp_path)
    paths = export_questions(QUESTIONS, BY_ID, {q.id for q in first}, tmp_path)
    assert sum(len(p.read_text().splitlines()) - 1 for p in paths) == 30
