"""The report of a study: what it has stored, estimated model by model, for a table or a page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from harness.analysis.costs import run_cost
from harness.analysis.inputs import study_clusters
from harness.analysis.looks import check_look
from harness.analysis.model_report import Collected, ModelReport, report_model
from harness.analysis.options import EstimateOptions
from harness.config import Study
from harness.datasets import read_ratings
from harness.errors import BadInput, EstimateError, NotIdentified
from harness.estimate import CONFIDENCE, Strata, check_watchable, decode, keep_predicted
from harness.panel import make_panel, stratify_by_certainty
from harness.store import PlannedLook, Store
from harness.types import Answer, Item, Labels, Prediction, Question, Verdict

_PACKAGES = ("oversight", "numpy", "scipy", "openai", "sqlmodel")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertReport:
    """One expert's questions and answers."""

    name: str
    asked: int
    yes: int
    no: int
    abstained: int
    expected_yes_rate: float

    @property
    def yes_rate(self) -> float | None:
        """Share of yes among yes and no; None without either."""
        return self.yes / (self.yes + self.no) if self.yes + self.no else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyReport:
    """A whole study; `left_out` says which models have no answers yet."""

    name: str
    seed: int
    protocol: str
    n_items: int
    n_questions: int
    n_answers: int
    options: Mapping[int, int]
    models: tuple[ModelReport, ...]
    experts: tuple[ExpertReport, ...]
    assumptions: tuple[str, ...]
    versions: Mapping[str, str]
    created: str
    left_out: Sequence[str] = ()

    @property
    def opened(self) -> bool:
        """Whether the truth by the sealed key is shown of a model."""
        return any(model.truth is not None for model in self.models)


def report_study(
    store: Store,
    study: Study,
    *,
    runs: Sequence[str] | None = None,
    truth: Mapping[str, int] | None = None,
    options: EstimateOptions | None = None,
    curve: bool = False,
) -> StudyReport:
    """Estimate every stored run of a study.

    Parameters
    ----------
    runs
        Names of models; None takes the newest run of each.
    options
        How to estimate; None takes the study's settings.
    truth, curve
        As in `harness.analysis.model_report.Collected`.

    Raises
    ------
    BadInput
        If there are no answers or no predictions yet, an option has no effect here, or a look is not the
        next one of its plan.
    EstimateError
        If the data of no model can be used.
    """
    if study.experts.is_panel:
        raise BadInput("this study is a panel; see: oversight agree, certify and parity --help")
    items, questions = store.content.read_items(), store.content.read_questions()
    answers = store.content.read_answers()
    if not answers:
        raise BadInput("there are no answers yet; see: oversight label --help")
    chosen = find_newest_runs(store, runs)
    labels = decode(answers, questions).clustered(study_clusters(study))
    options, strata = options or EstimateOptions.of_study(study), _strata(items, study)
    options.check_effect(labels.design, strata=strata is not None)
    level = options.level_now  # which refuses a look beyond its plan
    look = PlannedLook(look=options.look, looks=options.looks, answered=len(answers), drawn=len(questions))
    if options.looks:
        check_look(store, look)
    data = Collected(
        items=items,
        answers=answers,
        labels=labels,
        strata=strata,
        options=options,
        level=level,
        truth=truth,
        curve=curve,
        asked=labels.design.asked,
        joint=len(chosen.runs) if options.joint else 0,
    )
    models = _report_models(store, study, chosen.runs, data)
    if options.looks:
        store.looks.add_look(look)
    return replace(_summarise(study, items, questions, answers, models), left_out=chosen.left_out)


def _summarise(
    study: Study,
    items: Sequence[Item],
    questions: Sequence[Question],
    answers: Sequence[Answer],
    models: tuple[ModelReport, ...],
) -> StudyReport:
    """All models' reports with what they share."""
    assumed = (a for m in models for e in m.estimates.values() for a in e.assumptions)
    return StudyReport(
        name=study.study.name,
        seed=study.study.seed,
        protocol=", ".join(sorted({q.protocol for q in questions})),
        n_items=len(items),
        n_questions=len(questions),
        n_answers=len(answers),
        options=dict(sorted(Counter(len(item.options) for item in items).items())),
        models=models,
        experts=_experts(questions, answers),
        assumptions=tuple(dict.fromkeys(assumed)),
        versions={name: version(name) for name in _PACKAGES},
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _report_models(
    store: Store, study: Study, runs: Sequence[dict[str, Any]], data: Collected
) -> tuple[ModelReport, ...]:
    """The report of every run.

    Raises
    ------
    EstimateError
        If none of them can be estimated.
    """
    predicted = [store.runs.read_predictions(run["id"]) for run in runs]
    if data.options.anytime:
        _check_watchable(predicted, data.labels)
    models = tuple(
        report_model(run, predictions, run_cost(study, store, run), data)
        for run, predictions in zip(runs, predicted, strict=True)
    )
    if all(model.unusable for model in models):
        raise EstimateError(models[0].unusable)
    return models


def _check_watchable(models: Sequence[Sequence[Prediction]], labels: Labels) -> None:
    """Refuse an interval for looking on that this draw allows for none of the models.

    Raises
    ------
    BadInput
        Saying why.
    """
    reasons = []
    for predictions in models:
        try:
            check_watchable(predictions, keep_predicted(labels, predictions))
        except NotIdentified as error:
            reasons.append(str(error))
    if len(reasons) == len(models):
        raise BadInput(f"anytime: {reasons[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRuns:
    """Runs with answers, and what is said of those that have none yet and were left out."""

    runs: Sequence[dict[str, Any]]
    left_out: Sequence[str]


def find_newest_runs(store: Store, names: Sequence[str] | None) -> ChosenRuns:
    """The newest run of every model that has answers, or of those named.

    Raises
    ------
    BadInput
        If a model named was not run or has no answers yet, or there are no answers of any.
    """
    newest = {run["name"]: run for run in store.runs.read_runs()}
    if not newest:
        raise BadInput("no model was run yet; see: oversight run --help")
    for name in names or ():
        if name not in newest:
            raise BadInput(f"the model {name!r} was not run; there are: {', '.join(newest)}")
    counts = store.runs.count_answers()
    runs, left_out = list[dict[str, Any]](), list[str]()
    for name in names or newest:
        answers, failed = counts.get(newest[name]["id"], (0, 0))
        if answers:
            runs.append(newest[name])
        else:
            left_out.append(f"run {name!r} has no answers yet" + (f" ({failed} failed)" if failed else ""))
    if left_out and (names or not runs):
        raise BadInput(f"{left_out[0]}; see: oversight run --help")
    return ChosenRuns(runs=runs, left_out=left_out)


def _strata(items: Sequence[Item], study: Study) -> Strata:
    """By a column, by a panel, or by the model's confidence unless the items have a column of that name."""
    column = study.estimate.strata
    if study.estimate.panel is not None:
        if study.items.cluster is not None:
            raise BadInput(
                "panel: the strata of a panel's certainty take items as independent, and these share "
                f"{study.items.cluster!r} (items.cluster); leave the panel out"
            )
        path = study.path(study.estimate.panel)
        certain = stratify_by_certainty(make_panel(read_ratings(path)))
        if not certain.keys() & {item.id for item in items}:
            raise BadInput(f"{path}: rates none of the study's items; the column item must hold their ids")
        return {item.id: certain.get(item.id, "no vote") for item in items}
    if column is None:
        return None
    if column == CONFIDENCE and CONFIDENCE not in items[0].meta:
        return CONFIDENCE
    missing = [item.id for item in items if column not in item.meta]
    if missing:
        raise BadInput(
            f"estimate.strata: the item {missing[0]!r} has no column {column!r}; name it in [items] meta"
        )
    return {item.id: item.meta[column] for item in items}


def _experts(questions: Sequence[Question], answers: Sequence[Answer]) -> tuple[ExpertReport, ...]:
    said = Counter((a.expert, a.verdict) for a in answers)
    asked: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        asked[question.expert].append(question)
    return tuple(
        ExpertReport(
            name=expert,
            asked=len(given),
            yes=said[expert, Verdict.YES],
            no=said[expert, Verdict.NO],
            abstained=said[expert, Verdict.UNSURE] + said[expert, Verdict.SKIP],
            expected_yes_rate=sum(1 / q.n_options for q in given) / len(given),
        )
        for expert, given in sorted(asked.items())
    )
