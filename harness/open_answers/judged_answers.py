"""Data of the page of open answers: answers with their judged units, and results by model and field."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from oversight.harness.config import Study
from oversight.harness.errors import BadInput, OversightError, StoreError
from oversight.harness.open_answers.judged_study import JudgedStudy, estimate_study, read_judged
from oversight.harness.open_answers.result_texts import describe, find_fields
from oversight.harness.open_answers.units import NO, YES
from oversight.harness.store import Store, StoredAnswer, StoredUnit
from oversight.harness.types import Item

PAGE_SIZE = 40
"""Number of answers on a page."""
OUTCOMES = ("error", "right", "open", "unasked")
"""States of a unit, by which answers are filtered; an open unit was asked about but has no yes or no."""
_WORDS = {"open": "open", "unasked": "not asked"}


def read_judged_answers(
    study: Study, store: Store, model: str = "", field: str = "", outcome: str = "", start: str = "0"
) -> dict[str, Any]:
    """Read one page of a study's answers with their units, and the results by model and field.

    Parameters
    ----------
    model, field
        Return only answers of this model, and only answers with a unit of this field; empty for all.
    outcome
        One of `OUTCOMES`: return only answers with a unit in this state (a unit of `field`, if given); empty
        for all.
    start
        Position of the page's first answer among all matching answers, counted from 0.

    Returns
    -------
    dict
        ``models``, ``fields``: names. ``results``: for each field ("" for all) and model, ``met`` and
        ``score`` as text, and the score as ``value``, None if none exists. ``answers``: at most
        `PAGE_SIZE`, each with item, text, model, raw answer and units; a unit has a state and a word for it.
        ``matches``, ``of``: number of matching answers, and of all answers. ``why``: reason why there is
        nothing to show, with all other entries missing; otherwise empty.
    """
    if not start.isdecimal():
        raise BadInput(f"start must be a whole number, is {start!r}")
    if outcome not in ("", *OUTCOMES):
        raise BadInput(f"outcome must be one of {', '.join(OUTCOMES)}, is {outcome!r}")
    try:
        judged = read_judged(study, store)
    except StoreError:
        raise
    except OversightError as error:
        return {"why": str(error)}
    states = find_states(judged)
    units = _units_by_answer(judged)
    chosen = [
        answer
        for answer in judged.frame.answers
        if model in ("", answer.model) and _matches(answer, units[answer.id], states, field, outcome)
    ]
    shown = chosen[int(start) : int(start) + PAGE_SIZE]
    items = store.content.find_items({answer.item_id for answer in shown})
    comments = _read_comments(store, judged)
    return {
        "why": "",
        "models": list(judged.frame.models),
        "fields": sorted({unit.field for unit in judged.frame.units if unit.field is not None}),
        "results": _list_results(study, judged),
        "answers": [_describe(a, items[a.item_id], units[a.id], states, comments) for a in shown],
        "start": int(start),
        "size": PAGE_SIZE,
        "matches": len(chosen),
        "of": len(judged.frame.answers),
    }


def find_states(judged: JudgedStudy) -> dict[tuple[str, str], str]:
    """Return (id of the answer, id of the unit) → one of `OUTCOMES`.

    A unit with negative points is an error if it is met; any other unit is an error if it is not met.
    """
    table, found = judged.judgements, dict[tuple[str, str], str]()
    table = table.take(~table.is_control)
    asked = {(row.answer, row.unit_id) for row in judged.drawn if row.question_id}
    rows = zip(
        table.answer.tolist(), table.unit.tolist(), table.reply.tolist(), table.points.tolist(), strict=True
    )
    for answer, unit, reply, points in rows:
        if reply in (YES, NO):
            found[answer, unit] = "right" if (reply == YES) == (points > 0) else "error"
        else:
            found.setdefault((answer, unit), "open" if (answer, unit) in asked else "unasked")
    return found


def _units_by_answer(judged: JudgedStudy) -> dict[str, list[StoredUnit]]:
    found: dict[str, list[StoredUnit]] = {answer.id: [] for answer in judged.frame.answers}
    for answer, unit in judged.frame.pairs:
        found[answer.id].append(unit)
    return found


def _matches(
    answer: StoredAnswer,
    units: Sequence[StoredUnit],
    states: Mapping[tuple[str, str], str],
    field: str,
    outcome: str,
) -> bool:
    about = [unit for unit in units if field in ("", unit.field)]
    return any(outcome in ("", states[answer.id, unit.id]) for unit in about)


_Comments = Mapping[tuple[str, str], Sequence[str]]
"""(Id of the answer, id of the unit) → comments of its experts."""


def _read_comments(store: Store, judged: JudgedStudy) -> _Comments:
    put = {row.question_id: row for row in judged.drawn if row.question_id}
    put |= {control.id: put[control.original] for control in store.controls.read_controls()}
    replies = store.replies(panel=False).find_replies(put)
    found = defaultdict[tuple[str, str], list[str]](list)
    for name, row in put.items():
        reply = replies.get(name)
        if reply is not None and reply.comment:
            found[row.answer, row.unit_id].append(f"{reply.expert}: {reply.comment}")
    return found


def _describe(
    answer: StoredAnswer,
    item: Item,
    units: Sequence[StoredUnit],
    states: Mapping[tuple[str, str], str],
    comments: _Comments,
) -> dict[str, Any]:
    return {
        "item": item.id,
        "text": item.text,
        "model": answer.model,
        "raw": answer.text,
        "units": [
            {
                "text": unit.text,
                "points": None if unit.answer else unit.points,
                "field": unit.field,
                "state": states[answer.id, unit.id],
                "word": _name_state(unit, states[answer.id, unit.id]),
                "comments": list(comments.get((answer.id, unit.id), ())),
            }
            for unit in units
        ],
    }


def _name_state(unit: StoredUnit, state: str) -> str:
    """Return a unit's state as a word: a judged criterion is met or not met, a claim is right or an error."""
    if state in _WORDS or unit.answer:
        return _WORDS.get(state, state)
    return "met" if (state == "right") == (unit.points > 0) else "not met"


def _list_results(study: Study, judged: JudgedStudy) -> list[dict[str, Any]]:
    """Return score and share of met units of every model, for all fields together and for each field."""
    result = estimate_study(study, judged)
    known = {(e.metric, e.model, e.field): e for e in result.estimates if e.other is None}
    return [
        {
            "field": field or "",
            "model": model,
            "value": known["score", model, field].value,
            "met": describe(met),
            "score": describe(known["score", model, field]),
        }
        for field in (None, *find_fields(result))
        for model in judged.frame.models
        if (met := known.get(("met", model, field))) is not None and ("score", model, field) in known
    ]
