"""Write scores for inspect-ai whose metadata contain all data that a metric needs to compute the estimate.

inspect-ai passes only scored samples to a metric. If an expert refuted an option that the model did not
predict, the sample has no score, but the estimate uses the answer. So the metadata of the scored samples also
contain the data of the items without a score. Every score states the number of scores, because an estimate
from only some scores would be wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from oversight.harness.analysis.inputs import study_clusters
from oversight.harness.analysis.opened_study import find_newest_runs, requested_interval
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.estimate import CONFIDENCE, accuracy, decode
from oversight.harness.platform import write_whole
from oversight.harness.store import Store
from oversight.harness.types import Answer, Estimate, Item, Prediction, PredictionStatus, Question, Verdict

_KEY = "oversight"
"""Key in the metadata of a score under which the data for the estimate are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedQuestion:
    """A question about an item, with its answer.

    Attributes
    ----------
    option, propensity, propensities, protocol
        As in `oversight.harness.types.Question`.
    expert
        Index of the asked expert, counted from 0. Names of experts are not written.
    place
        Position of the question in the list of all questions, from 0.
    verdict
        The answer, or None.
    arrived
        Position in the order in which answers arrived, from 0; None without an answer.
    handed_out
        Position in the expert's queue: `place` of `oversight.harness.types.Question`.
    """

    option: int
    propensity: float
    propensities: tuple[float, ...]
    protocol: str
    expert: int
    place: int
    verdict: Verdict | None = None
    arrived: int | None = None
    handed_out: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedItem:
    """An item with all data that estimates need.

    Attributes
    ----------
    id, n_options
        Id of the item, and number of its options.
    prediction, status, confidence
        The model's prediction; the status is None if the model was not asked.
    questions
        All questions about the item.
    cluster, stratum
        The item's cluster and stratum, if the study has them.
    """

    id: str
    n_options: int
    prediction: int | None = None
    status: PredictionStatus | None = None
    confidence: float | None = None
    questions: tuple[CarriedQuestion, ...] = ()
    cluster: str | None = None
    stratum: str | None = None

    @property
    def is_right(self) -> bool | None:
        """Whether the answers confirm (True) or refute (False) the prediction; None if they do neither."""
        said = {q.option: q.verdict for q in self.questions}
        yes = [option for option, verdict in said.items() if verdict == Verdict.YES]
        no = {option for option, verdict in said.items() if verdict == Verdict.NO}
        if self.status is None or self.status is PredictionStatus.FAILED or not (yes or no):
            return None
        if yes or self.prediction is None:
            return self.prediction in yes
        if self.prediction in no:
            return False
        return True if len(no) == self.n_options - 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateSettings:
    """The study's settings for estimates: `level` and `interval` of `oversight.accuracy`, and strata.

    `strata` is ``"confidence"``, the name of a column, or None for no strata.
    """

    level: float = 0.95
    interval: str | None = None
    strata: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Carried:
    """The metadata of one score: data of the scored item, then data of some items without a score."""

    items: tuple[CarriedItem, ...]
    scores: int
    settings: EstimateSettings


_READ = TypeAdapter(_Carried)


def _pack_scores(items: Sequence[CarriedItem], settings: EstimateSettings) -> dict[str, dict[str, Any]]:
    """Return item id → metadata of the item's score, for all items with a score.

    The metadata of a score also contain the data of some items without a score (see the module).
    """
    scored = [item for item in items if item.is_right is not None]
    rest = [item for item in items if item.is_right is None]
    n = len(scored)
    return {
        item.id: {_KEY: asdict(_Carried(items=(item, *rest[j::n]), scores=n, settings=settings))}
        for j, item in enumerate(scored)
    }


def unpack_scores(
    metadata: Iterable[Mapping[str, Any] | None],
) -> tuple[list[CarriedItem], EstimateSettings]:
    """Read, from the metadata of scores, the items (each once) and the study's settings for estimates.

    Raises
    ------
    BadInput
        If a score was not made by oversight, if scores are missing, or if the scores come from several
        files.
    """
    found, files = dict[str, _Carried](), set[tuple[EstimateSettings, int]]()
    for number, fields in enumerate(metadata, start=1):
        try:
            carried = _READ.validate_python((fields or {})[_KEY])
        except KeyError:
            raise BadInput(f"score {number} was not made by `oversight predictions scores`") from None
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise BadInput(f"score {number} [metadata.{_KEY}.{where}]: {error.errors()[0]['msg']}") from None
        found[carried.items[0].id] = carried
        files.add((carried.settings, carried.scores))
    if not found:
        raise BadInput("there are no scores")
    if len(files) != 1:
        raise BadInput(
            "the scores come from several files; score the log again with one file and --action overwrite"
        )
    settings, n = files.pop()
    if n != len(found):
        raise BadInput(
            f"the log contains only {len(found)} of {n} scores, because it lacks samples that experts were "
            "asked about, so an estimate would differ from the study's; score a log of all samples"
        )
    return [item for carried in found.values() for item in carried.items], settings


def estimate_carried(
    items: Sequence[CarriedItem],
    settings: EstimateSettings,
    *,
    estimator: str = "ml",
    level: float | None = None,
) -> Estimate:
    """Estimate the model's accuracy as the study does; raise the same errors as `oversight.accuracy`.

    Parameters
    ----------
    items, settings
        See `unpack_scores`.
    estimator, level
        As in `oversight.accuracy`; if `level` is None, the study's level is used.
    """
    asked = sorted(((q, item) for item in items for q in item.questions), key=lambda pair: pair[0].place)
    questions = {q.place: _question(q, item) for q, item in asked}
    answers = [
        Answer(questions[q.place], str(q.expert), q.verdict, _KEY)
        for q, _ in sorted(asked, key=lambda pair: pair[0].arrived or 0)
        if q.verdict is not None
    ]
    labels = decode(answers, questions.values())
    clusters = {item.id: item.cluster for item in items if item.cluster is not None}
    strata = {item.id: item.stratum for item in items if item.stratum is not None}
    return accuracy(
        [
            Prediction(item.id, item.prediction, item.status, confidence=item.confidence)
            for item in items
            if item.status is not None
        ],
        labels.clustered(clusters) if clusters else labels,
        estimator=estimator,
        interval=settings.interval,
        level=settings.level if level is None else level,
        strata="confidence" if settings.strata == "confidence" and not strata else strata or None,
    )


def _question(carried: CarriedQuestion, item: CarriedItem) -> Question:
    return Question(
        id=str(carried.place),
        item_id=item.id,
        option=carried.option,
        expert=str(carried.expert),
        n_options=item.n_options,
        protocol=carried.protocol,
        propensity=carried.propensity,
        seed=0,
        propensities=carried.propensities,
        place=carried.handed_out,
    )


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
        The accuracy that a metric computes from the file's metadata.
    """

    right: int
    wrong: int
    unscored: int
    estimate: Estimate


def write_scores(study: Study, file: str, model: str) -> WrittenScores:
    """Write one JSON line per confirmed or refuted sample, with all data that the estimate needs.

    Raises
    ------
    BadInput
        If the study has a panel's ratings instead of yes/no answers, if the model was not run, or if no
        prediction of the model is confirmed or refuted yet.
    EstimateError
        If the estimate is not defined for the answers.
    """
    if study.experts.is_panel or study.estimate.panel is not None:
        raise BadInput("scores need experts' yes/no answers, but this study has a panel's ratings")
    section = study.estimate
    settings = EstimateSettings(
        level=section.level, interval=requested_interval(study), strata=section.strata
    )
    with Store(study.store_url) as store:
        items = store.content.read_items()
        carried = _carry(study, store, items, model)
    packed = _pack_scores(carried, settings)
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
    """Return every item with a question or a prediction."""
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
        raise BadInput(
            f"estimate.strata: an item has no column {column!r}; name the column in meta under [items]"
        )
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
