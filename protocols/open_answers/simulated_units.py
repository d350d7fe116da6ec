"""Simulate experts who judge open answers, from a sealed key."""

from __future__ import annotations

import numpy as np

from oversight.harness import BadInput, derive_seed
from oversight.harness.config import Study
from oversight.harness.open_answers import read_frame, read_unit_key
from oversight.harness.store import Response, Store
from oversight.harness.types import Verdict
from oversight.protocols.open_answers.unit_route import route_units


def simulate_units(study: Study, key: str, *, abstention: float = 0.0) -> int:
    """Answer all questions from a file of true labels. Returns the number of answers.

    Questions that follow from these answers are answered too.

    An expert answers "not my field" if the key gives the unit's field and the expert does not judge this
    field.

    Parameters
    ----------
    key
        File with the columns item, model, unit (id or text), label (yes or no) and, if known, field.
    abstention
        Probability of "cannot tell".

    Raises
    ------
    DataError
        If a label is neither yes nor no.
    BadInput
        If the key lacks a unit that is asked about.
    """
    if not 0 <= abstention < 1:
        raise BadInput(f"abstention must be a probability below 1, is {abstention}")
    truth, number = read_unit_key(key), 0
    while True:
        replies = _answer_open(study, truth, abstention)
        if not replies:
            return number
        with Store(study.store_url) as store:
            number += store.replies(panel=False).add_replies(replies)
        route_units(study)


def _answer_open(
    study: Study, truth: dict[tuple[str, str, str], tuple[str, str]], abstention: float
) -> list[Response]:
    with Store(study.store_url) as store:
        frame, drawn = read_frame(store), store.open_answers.read_draw()
        put = {row.question_id: row for row in drawn if row.question_id}
        asked = [(row.question_id, row.expert, row, str(row.attempt)) for row in put.values()]
        again = store.controls.read_controls()
        asked += [(control.id, control.expert, put[control.original], control.expert) for control in again]
        done = store.replies(panel=False).find_values([name for name, *_ in asked])
    answers, units = {a.id: a for a in frame.answers}, {u.id: u for u in frame.units}
    found = list[Response]()
    for name, expert, row, turn in asked:
        if name in done:
            continue
        answer, unit = answers[row.answer], units[row.unit_id]
        about = (answer.item_id, answer.model)
        known = truth.get((*about, unit.id)) or truth.get((*about, unit.text))
        if known is None:
            told = f"the key has no label for the unit {unit.text!r} of {answer.model!r}"
            raise BadInput(f"{told}, item {answer.item_id!r}")
        label, field = known
        draw = derive_seed(study.study.seed, "cannot tell", answer.id, unit.id, turn)
        if np.random.default_rng(draw).random() < abstention:
            label = Verdict.UNSURE.value
        elif unit.field is None and field and field != row.field:
            label = Verdict.SKIP.value
        found.append(Response(name, expert, label, "simulated"))
    return found
