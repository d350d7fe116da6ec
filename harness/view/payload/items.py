"""Data on items with their questions, answers and predictions: filtered pages of items, and single items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from oversight.harness.analysis import ItemFilter, ItemVerdict, ModelOutcome, StudyItems
from oversight.harness.arrays import FAILED
from oversight.harness.errors import BadInput
from oversight.harness.store import Revision, Store, take_vote
from oversight.harness.types import Prediction, PredictionStatus, Question, Verdict, plain_fields


def describe_items(store: Store, ids: Sequence[str], *, full: bool) -> dict[str, dict[str, Any]]:
    """Return id → item with its questions and predictions; `full` adds details, comments and all samples."""
    found = store.content.find_items(ids)
    questions = store.content.read_questions_about(list(found.values()))
    asked = _describe_questions(store, questions, full=full)
    newest = {run["name"]: run["id"] for run in store.runs.read_runs()}
    said = defaultdict[tuple[str, str], list[Prediction]](list)
    for run, prediction in store.runs.find_samples(list(newest.values()), ids):
        said[prediction.item_id, run].append(prediction)
    return {
        name: {
            "id": name,
            "text": item.text,
            "options": item.options,
            "meta": dict(item.meta),
            "questions": asked[name],
            "predictions": [
                _describe_prediction(model, said[name, run], asked[name], full=full)
                for model, run in newest.items()
                if (name, run) in said
            ],
        }
        for name, item in found.items()
    }


def _describe_questions(
    store: Store, questions: Sequence[Question], *, full: bool
) -> Mapping[str, list[dict[str, Any]]]:
    ids = [question.id for question in questions]
    replies = store.content.replies.find_replies(ids)
    revisions = defaultdict[str | None, list[dict[str, Any]]](list)
    for revision in store.labelling.find_revisions(ids) if full else ():
        revisions[revision.question_id].append(_describe_revision(revision))
    found = defaultdict[str, list[dict[str, Any]]](list)
    for q in sorted(questions, key=lambda q: (q.option, q.id)):
        reply = replies.get(q.id)
        row: dict[str, Any] = {
            "expert": q.expert,
            "option": q.option,
            "verdict": None if reply is None else reply.value,
        }
        if full:
            row |= {
                "id": q.id,
                "protocol": q.protocol,
                "propensity": q.propensity,
                "propensities": q.propensities,
                "source": None if reply is None else reply.source,
                "comment": "" if reply is None else reply.comment,
                "revisions": revisions[q.id],
            }
        found[q.item_id].append(row)
    return found


def _describe_revision(revision: Revision) -> dict[str, Any]:
    values = [
        value
        for part in revision.result
        if isinstance(part, dict) and isinstance(value := part.get("value"), dict)
    ]
    state = "deleted" if revision.deleted else "skipped" if revision.cancelled else "submitted"
    return {
        "when": revision.updated_at,
        "state": state,
        "said": [choice for value in values for choice in value.get("choices") or ()],
        "comment": "\n".join(text for value in values for text in _texts(value.get("text"))),
        "seconds": revision.seconds,
    }


def _texts(value: object) -> list[str]:
    """Return a text field of an annotation as a list: one text, or one text per row."""
    return [value] if isinstance(value, str) else [*map(str, value)] if isinstance(value, list) else []


def _describe_prediction(
    model: str, samples: Sequence[Prediction], asked: Sequence[Mapping[str, Any]], *, full: bool
) -> dict[str, Any]:
    """Describe a model's prediction: the vote of its samples, and the outcome; `full` adds the samples."""
    vote = take_vote(list(samples))
    row: dict[str, Any] = {
        "model": model,
        "option": vote.option,
        "status": vote.status.value,
        "outcome": find_outcome(FAILED if vote.status is PredictionStatus.FAILED else vote.option, asked),
    }
    if full:
        row["samples"] = [_describe_sample(p) for p in samples]
    return row


def find_outcome(option: int | None, asked: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the `ModelOutcome` of a predicted option; None if no expert confirmed or refuted the option."""
    if option == FAILED:
        return ModelOutcome.FAILED
    if option is None:
        return ModelOutcome.UNREADABLE
    said = {(q["verdict"], q["option"] == option) for q in asked}
    if (Verdict.NO, True) in said or (Verdict.YES, False) in said:
        return ModelOutcome.REFUTED
    return ModelOutcome.CONFIRMED if (Verdict.YES, True) in said else None


def _describe_sample(p: Prediction) -> dict[str, Any]:
    row = plain_fields(p)
    del row["item_id"], row["step"]
    return row


_CHOICES = {"verdict": ItemVerdict, "outcome": ModelOutcome}
_NAMES = ("words", "expert", "asked", "verdict", "model", "outcome")
_PAGE = ("after", "before", "limit")
_MOST_VALUES = 500


def read_items(store: Store, items: StudyItems, params: Mapping[str, str]) -> dict[str, Any]:
    """Return one page of the items that match a filter.

    Parameters
    ----------
    params
        Filter: ``words``, ``expert``, ``asked`` (a class), ``verdict``, ``model``, ``outcome``, ``column``
        with ``stratum``, ``disagreed`` (models, one per line). Page: ``after`` or ``before`` (a position),
        ``limit``.

    Raises
    ------
    BadInput
        If a parameter is unknown, or names something that does not exist.
    """
    wanted = read_filter(params)
    numbers = {name: _whole(name, params[name]) for name in _PAGE if params.get(name)}
    page = items.read_page(wanted, **numbers)
    rows = describe_items(store, list(page.items.values()), full=False)
    shown = [{"position": place, **rows[name]} for place, name in page.items.items() if name in rows]
    return plain_fields(page) | {"items": shown}


def read_item(store: Store, items: StudyItems, params: Mapping[str, str]) -> dict[str, Any]:
    """Return one item in full, with the previous and the next item that match a filter.

    Raises
    ------
    BadInput
        If the item does not exist, or the filter is wrong.
    """
    name = params.get("id", "")
    found = describe_items(store, [name], full=True).get(name)
    if found is None:
        raise BadInput(f"there is no item {name!r}")
    position = store.columns.find_position(name)
    wanted = read_filter({n: v for n, v in params.items() if n != "id"})
    before = items.read_page(wanted, before=position, limit=1).items
    after = items.read_page(wanted, after=position, limit=1).items
    ends = {"previous": next(iter(before.values()), None), "next": next(iter(after.values()), None)}
    return {"position": position, **found, **ends}


def read_column(store: Store, items: StudyItems, params: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG001  as the others
    """Return the first 500 different values of a column of the items.

    Raises
    ------
    BadInput
        If no item has the column.
    """
    names = items.read_column(params.get("name", "")).names
    return {"values": names[:_MOST_VALUES], "of": len(names)}


def read_filter(params: Mapping[str, str]) -> ItemFilter:
    """Return the filter that the parameters describe; empty parameters are ignored.

    Raises
    ------
    BadInput
        If a parameter is unknown or has an unknown value.
    """
    unknown = params.keys() - {*_NAMES, *_PAGE, "column", "stratum", "disagreed"}
    if unknown:
        raise BadInput(f"there is no filter {', '.join(map(repr, sorted(unknown)))}")
    given = {name: params[name] for name in _NAMES if params.get(name)}
    for name, choices in _CHOICES.items():
        if name in given and given[name] not in [*choices]:
            raise BadInput(f"{name}: must be one of {', '.join(choices)}, is {given[name]!r}")
    column, stratum = params.get("column"), params.get("stratum")
    named: dict[str, Any] = dict(given)
    return ItemFilter(
        **named | {n: kind(given[n]) for n, kind in _CHOICES.items() if n in given},
        stratum=(column, stratum) if column and stratum else None,
        # Split only at line feeds, because names may contain other line separators.
        disagreed=tuple(filter(None, params.get("disagreed", "").split("\n"))),
    )


def _whole(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise BadInput(f"{name}: must be a whole number, is {text!r}")
    return int(text)
