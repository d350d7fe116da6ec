"""Items as rows: the questions and answers about each, and every model's prediction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from oversight.harness.analysis import ModelOutcome
from oversight.harness.arrays import FAILED
from oversight.harness.store import Revision, Store, take_vote
from oversight.harness.types import Prediction, PredictionStatus, Question, Verdict, plain_fields


def describe_items(store: Store, ids: Sequence[str], *, full: bool) -> dict[str, dict[str, Any]]:
    """Return items by id (at most one portion) with questions and predictions; `full` adds all texts."""
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
    """Describe a model's prediction: the vote of its samples and experts' verdict; `full` adds samples."""
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
    """Return the outcome of a predicted option, as in `ModelOutcome`; None if answers leave it open."""
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
