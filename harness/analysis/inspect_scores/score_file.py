"""The scores of a model's samples as a file that inspect-ai's ``precomputed_scores`` reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from oversight.harness.analysis.inputs import study_clusters
from oversight.harness.analysis.inspect_scores.carried_answers import (
    CarriedItem,
    CarriedQuestion,
    EstimateSettings,
    estimate_carried,
    pack_scores,
)
from oversight.harness.analysis.opened_study import find_newest_runs
from oversight.harness.analysis.options import EstimateOptions
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.estimate import CONFIDENCE
from oversight.harness.machine import write_whole
from oversight.harness.store import Store
from oversight.harness.types import Estimate, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenScores:
    """What was written.

    Attributes
    ----------
    right, wrong
        Samples that the experts' answers confirm and refute.
    unscored
        Items of the study that they leave open.
    estimate
        The accuracy that a metric finds from the file.
    """

    right: int
    wrong: int
    unscored: int
    estimate: Estimate


def write_scores(study: Study, file: str, model: str) -> WrittenScores:
    """Write one JSON line a sample that the answers confirm or refute, with all that the estimate needs.

    Raises
    ------
    BadInput
        If the study is a panel, takes its strata from one, was not run with the model, or nothing is
        confirmed or refuted yet.
    EstimateError
        If the estimate is not defined for the answers.
    """
    if study.experts.is_panel or study.estimate.panel is not None:
        raise BadInput("a panel's ratings score no samples: this is for experts' yes and no")
    options = EstimateOptions.of_study(study)
    settings = EstimateSettings(level=options.level, interval=options.interval, strata=study.estimate.strata)
    with Store(study.store_url) as store:
        items = store.content.read_items()
        carried = _carry(study, store, items, model)
    packed = pack_scores(carried, settings)
    if not packed:
        raise BadInput(f"no answer confirms or refutes a prediction of {model!r} yet")
    made = WrittenScores(
        right=sum(item.is_right is True for item in carried),
        wrong=sum(item.is_right is False for item in carried),
        unscored=len(items) - len(packed),
        estimate=estimate_carried(carried, settings),
    )
    texts = {item.id: item.options for item in items}
    scored = [item for item in carried if item.id in packed]
    lines = [orjson.dumps(_record(c, texts[c.id], packed[c.id])).decode() for c in scored]
    write_whole("\n".join([*lines, ""]), file)
    return made


def _carry(study: Study, store: Store, items: list[Item], model: str) -> list[CarriedItem]:
    """Every item that was asked about or predicted."""
    (run,) = find_newest_runs(store, [model]).runs
    predicted = {p.item_id: p for p in store.runs.read_predictions(run["id"])}
    clusters, strata = study_clusters(study), _read_strata(study, items)
    questions, experts = defaultdict[str, list[CarriedQuestion]](list), dict[str, int]()
    replies = {a.question.id: (a.verdict, n) for n, a in enumerate(store.content.read_answers())}
    for place, q in enumerate(store.content.read_questions(second=False)):
        verdict, arrived = replies.get(q.id, (None, None))
        questions[q.item_id].append(
            CarriedQuestion(
                option=q.option,
                propensity=q.propensity,
                propensities=q.propensities,
                protocol=q.protocol,
                expert=experts.setdefault(q.expert, len(experts)),
                place=place,
                verdict=verdict,
                arrived=arrived,
                handed_out=q.place,
            )
        )
    return [
        CarriedItem(
            id=item.id,
            n_options=len(item.options),
            prediction=None if p is None else p.option,
            status=None if p is None else p.status,
            confidence=None if p is None else p.confidence,
            questions=tuple(questions[item.id]),
            cluster=clusters.get(item.id),
            stratum=strata.get(item.id),
        )
        for item in items
        for p in [predicted.get(item.id)]
        if p is not None or item.id in questions
    ]


def _read_strata(study: Study, items: list[Item]) -> Mapping[str, str]:
    column = study.estimate.strata
    found = {item.id: item.meta[column] for item in items if column in item.meta} if column else {}
    if column and len(found) < len(items) and (found or column != CONFIDENCE):
        raise BadInput(f"estimate.strata: an item has no column {column!r}; name it in [items] meta")
    return found


def _record(item: CarriedItem, options: tuple[str, ...], metadata: Mapping[str, Any]) -> dict[str, Any]:
    said = [f"{options[q.option]!r}: {q.verdict}" for q in item.questions if q.verdict is not None]
    return {
        "id": item.id,
        "value": "C" if item.is_right else "I",
        "answer": None if item.prediction is None else options[item.prediction],
        "explanation": f"experts on {'; '.join(said)}",
        "metadata": metadata,
    }
