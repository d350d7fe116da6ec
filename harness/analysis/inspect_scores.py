"""Write scores for inspect-ai whose metadata contain the model's estimate.

The estimate also depends on items without a score, on gold questions and on other models, none of which
inspect-ai passes to a metric. So every score contains the estimate of `report_study`, with the reason why its
interval may not hold. Every score also states the number of scores, so that missing scores are detected: the
estimate does not hold for only some of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from oversight.harness.analysis.opened_study import find_newest_runs
from oversight.harness.analysis.study_report import report_study
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.platform import write_whole
from oversight.harness.store import Store
from oversight.harness.types import Estimate, Item, Prediction, PredictionStatus, Verdict

_KEY = "oversight"
"""Key in the metadata of a score under which the estimate is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedEstimate:
    """A model's estimate, which is stored in every score of the model.

    Attributes
    ----------
    model
        Name of the model.
    scores
        Number of scores in the file.
    estimator, accuracy, low, high, stderr, level, why
        As `estimator`, `value`, `low`, `high`, `se`, `level` and `why` of `oversight.harness.types.Estimate`.
    """

    model: str
    scores: int
    estimator: str
    accuracy: float
    low: float
    high: float
    stderr: float | None
    level: float
    why: str

    @property
    def metrics(self) -> dict[str, float]:
        """Numbers that the metric shows, by name; `holds` is 0 if the interval may not hold, otherwise 1."""
        named = {"accuracy": self.accuracy, "low": self.low, "high": self.high, "stderr": self.stderr}
        return {name: x for name, x in named.items() if x is not None} | {"holds": float(not self.why)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Carried:
    """The metadata of one score: id of the item, and the estimate."""

    item: str
    estimate: CarriedEstimate


_READ = TypeAdapter(_Carried)


def unpack_scores(metadata: Iterable[Mapping[str, Any] | None]) -> CarriedEstimate:
    """Read the model's estimate from the metadata of all its scores.

    Raises
    ------
    BadInput
        If a score was not made by oversight, if scores are missing, or if the scores come from several
        files.
    """
    found, files = set[str](), set[CarriedEstimate]()
    for number, fields in enumerate(metadata, start=1):
        try:
            carried = _READ.validate_python((fields or {})[_KEY])
        except KeyError:
            raise BadInput(f"score {number} was not made by `oversight predictions scores`") from None
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise BadInput(
                f"score {number} [metadata.{_KEY}.{where}]: {error.errors()[0]['msg']}; write the scores "
                "again with: oversight predictions scores"
            ) from None
        found.add(carried.item)
        files.add(carried.estimate)
    if not found:
        raise BadInput("there are no scores")
    if len(files) != 1:
        raise BadInput(
            "the scores come from several files; score the log again with one file and --action overwrite"
        )
    estimate = files.pop()
    if estimate.scores != len(found):
        raise BadInput(
            f"the log contains only {len(found)} of {estimate.scores} scores, because it lacks samples that "
            "experts were asked about, but the study's estimate is about all samples; score a log of all "
            "samples"
        )
    return estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenScores:
    """Result of writing scores.

    Attributes
    ----------
    right, wrong
        Number of samples whose prediction is confirmed by experts' answers, and number of samples whose
        prediction is refuted.
    unscored
        Number of the study's items that the answers neither confirm nor refute.
    estimate
        The model's main estimate, which the metric gives.
    """

    right: int
    wrong: int
    unscored: int
    estimate: Estimate


def write_scores(study: Study, file: str, model: str) -> WrittenScores:
    """Write one JSON line per confirmed or refuted sample, with the model's main estimate.

    Raises
    ------
    BadInput
        If the study has a panel's ratings instead of yes/no answers, if the model was not run, or if no
        prediction of the model is confirmed or refuted yet.
    EstimateError
        If the estimate is not defined for the answers.
    """
    if study.experts.is_panel:
        raise BadInput("scores need experts' yes/no answers, but this study has a panel's ratings")
    with Store(study.store_url) as store:
        (run,) = find_newest_runs(store, [model]).runs
        predicted = {p.item_id: p for p in store.runs.read_predictions(run["id"])}
        items, said = store.content.read_items(), _read_verdicts(store)
        is_right = {item.id: _judge(item, predicted.get(item.id), said.get(item.id, {})) for item in items}
        scored = [item for item in items if is_right[item.id] is not None]
        if not scored:
            raise BadInput(f"no answer confirms or refutes a prediction of {model!r} yet")
        estimate = _estimate(study, store, model)
    carried = CarriedEstimate(
        model=model,
        scores=len(scored),
        estimator=estimate.estimator,
        accuracy=estimate.value,
        low=estimate.low,
        high=estimate.high,
        stderr=estimate.se,
        level=estimate.level,
        why=estimate.why,
    )
    lines = [
        orjson.dumps(
            _record(item, predicted[item.id], said[item.id], carried, is_right=is_right[item.id] is True)
        ).decode()
        for item in scored
    ]
    write_whole("\n".join([*lines, ""]), file)
    right = sum(found is True for found in is_right.values())
    return WrittenScores(
        right=right, wrong=len(scored) - right, unscored=len(items) - len(scored), estimate=estimate
    )


def _record(
    item: Item,
    predicted: Prediction,
    said: Mapping[int, Verdict],
    carried: CarriedEstimate,
    *,
    is_right: bool,
) -> dict[str, Any]:
    told = [f"{item.options[option]!r}: {verdict}" for option, verdict in said.items()]
    return {
        "id": item.id,
        "value": "C" if is_right else "I",
        "answer": None if predicted.option is None else item.options[predicted.option],
        "explanation": f"experts on {'; '.join(told)}",
        "metadata": {_KEY: asdict(_Carried(item=item.id, estimate=carried))},
    }


def _estimate(study: Study, store: Store, model: str) -> Estimate:
    (found,) = report_study(store, study, runs=[model]).models
    if found.accuracy is None:
        raise EstimateError("; ".join(filter(None, [found.unusable, *found.undefined.values()])))
    return found.accuracy


def _read_verdicts(store: Store) -> dict[str, dict[int, Verdict]]:
    """Return item id → option → the answer about this option, in the order of the questions."""
    replies = {a.question.id: a.verdict for a in store.content.read_answers()}
    said = defaultdict[str, dict[int, Verdict]](dict)
    for question in store.content.read_questions(second=False):
        verdict = replies.get(question.id)
        if verdict is not None:
            said[question.item_id][question.option] = verdict
    return said


def _judge(item: Item, predicted: Prediction | None, said: Mapping[int, Verdict]) -> bool | None:
    """Return whether answers confirm (True) or refute (False) a prediction; None if they do neither."""
    yes = [option for option, verdict in said.items() if verdict == Verdict.YES]
    no = [option for option, verdict in said.items() if verdict == Verdict.NO]
    if predicted is None or predicted.status is PredictionStatus.FAILED or not (yes or no):
        return None
    if yes or predicted.option is None:
        return predicted.option in yes
    if predicted.option in no:
        return False
    return True if len(no) == len(item.options) - 1 else None
