"""Report a study: estimate every model from the stored data, for tables and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np

from oversight.harness.analysis.class_task import ClassTask, plan_class_task
from oversight.harness.analysis.controls import ExpertQuality
from oversight.harness.analysis.costs import cost_per_correct, run_cost, study_prices
from oversight.harness.analysis.inputs import read_meta
from oversight.harness.analysis.opened_study import (
    FIRST_ONLY,
    Correction,
    EstimateOptions,
    GoldOnItem,
    OpenStudy,
    answers_for,
    check_look,
    match_gold,
    note_look,
    refuse_panel,
)
from oversight.harness.arrays import BoolArray
from oversight.harness.columns import (
    ABSTAINED,
    NO,
    YES,
    ItemIndex,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    keep_drawn,
    keep_predicted,
    mark,
)
from oversight.harness.config import Study
from oversight.harness.datasets import read_ratings
from oversight.harness.distribution import VERSION
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate import (
    CONFIDENCE,
    Check,
    ClassEstimates,
    Estimates,
    ExpertErrors,
    Judges,
    SecondQuestions,
    SideInformation,
    Strata,
    Votes,
    check_watchable,
    collected_part,
    estimate_models,
    find_strata,
    gold_errors,
    run_checks,
)
from oversight.harness.output import did_you_mean, pool_text, with_bar
from oversight.harness.panel import make_panel, stratify_by_certainty
from oversight.harness.store import PlannedLook, Store
from oversight.harness.types import (
    CORRECTED,
    ESTIMATOR_NAMES,
    Displayable,
    Estimate,
    HtmlTable,
    Prediction,
    estimate_table,
    interval_text,
    main_estimate,
    value_text,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCounts:
    """Numbers of the study's items, by what one model and the experts answered.

    Attributes
    ----------
    of
        All items of the study: predicted, failed and unpredicted ones.
    predicted
        Items that the model answered, readable or not.
    unreadable
        Predicted items whose answer named no option.
    failed
        Items on which every attempt failed.
    unpredicted
        Items about which the model was not asked yet.
    labelled
        Predicted items that an expert answered with yes or no.
    abstained
        Predicted items for which experts only said that they cannot tell.
    unlabelled
        Predicted items with questions, none of which is answered.
    unasked
        Predicted items without a question; if items were drawn from a pool, only drawn items count.
    """

    of: int
    predicted: int
    unreadable: int
    failed: int
    unpredicted: int
    labelled: int
    abstained: int
    unlabelled: int
    unasked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """Results of one model's run.

    Attributes
    ----------
    estimates
        Estimator name → estimate; undefined ones are in `undefined` with the reason.
    unusable
        Reason why the model's data allow no estimate; empty if they allow one.
    unreadable, failed
        Reason → number of predictions without a readable option; reason → number of failed predictions.
    refuted
        Number of items whose prediction an expert's answer contradicts.
    usd
        Cost of the run in dollars; None if the price is unknown.
    usd_per_correct
        Dollars per right answer, and the lower and upper end of its interval. The upper end is None if it is
        infinite; the attribute is None if the cost is unknown or zero.
    truth
        Accuracy according to the sealed answer key; None if the key was not opened.
    classes
        Results by class, if requested.
    steps
        Step that read an answer → number of predictions; see `oversight.harness.llm.Step`.
    fewer
        Number of items that lack some of their samples, because a run for more samples was stopped.

    Examples
    --------
    >>> import oversight as ov
    >>> model = ov.study_report("study.toml").models[0]
    >>> model.name, model.predictions, round(model.accuracy.value, 2)
    ('careful', 54, 0.77)
    """

    name: str
    run_id: str
    spec: Mapping[str, Any]
    created: str
    predictions: int
    items: ItemCounts
    estimates: Mapping[str, Estimate]
    undefined: Mapping[str, str]
    unusable: str
    checks: tuple[Check, ...]
    unreadable: Mapping[str, int]
    failed: Mapping[str, int]
    refuted: int
    input_tokens: int
    output_tokens: int
    truth: float | None = None
    usd: float | None = None
    usd_per_correct: tuple[float, float, float | None] | None = None
    classes: ClassEstimates | None = None
    steps: Mapping[str, int] = field(default_factory=dict)
    fewer: int = 0

    @property
    def accuracy(self) -> Estimate | None:
        """The main estimate of the model's accuracy (see `main_estimate`); None if there is no estimate."""
        return main_estimate(self.estimates)

    @property
    def usd_per_correct_why(self) -> str:
        """Reason why the interval of `usd_per_correct`, like the accuracy's, may not hold; empty if none."""
        return self.accuracy.why if self.accuracy and self.usd_per_correct else ""

    def doubted(self, why: str) -> ModelReport:
        """Return the report with `why` as the first reason for doubt of each estimate."""
        classes = self.classes
        if classes is not None:
            classes = ClassEstimates(_doubt(classes, why), classes.undefined)
        return replace(self, estimates=_doubt(self.estimates, why), classes=classes)


def _doubt(estimates: Mapping[str, Estimate], why: str) -> dict[str, Estimate]:
    return {
        name: replace(estimate, why="; ".join(filter(None, [why, estimate.why])))
        for name, estimate in estimates.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyEvidence:
    """The data that the reports of all models share.

    Attributes
    ----------
    labels
        Questions and answers; they also contain the predictions of all reported models, which the checks
        need.
    strata
        Strata of the items, if estimates are stratified.
    truth
        Item → true option according to the opened answer key, for the true accuracy; None if the key stays
        sealed.
    correction
        What is known about experts' errors; None if nothing is known.
    by_class
        Settings of results by class; None if none are requested.
    gold
        Gold answers about the study's items; None if no estimate is corrected by gold answers.
    """

    labels: LabelColumns
    strata: Strata
    truth: Mapping[str, int] | None
    correction: Correction | None
    by_class: ClassTask | None
    gold: Sequence[GoldOnItem] | None


def _report_model(
    opened: OpenStudy, run: Mapping[str, Any], made: Estimates, unusable: str, evidence: StudyEvidence
) -> ModelReport:
    """Return the report of one run, with its estimates or with the reason why none can be computed."""
    store, answered = opened.store, opened.runs.answered(run["name"])
    paid = store.runs.sum_usage(run["id"], answered.usage)
    usd = run_cost(store, study_prices(opened.study), run, paid)
    every = answered.predictions
    predictions = keep_drawn(every, evidence.labels)
    labels = keep_predicted(evidence.labels, predictions)
    strata = find_strata(predictions, labels, evidence.strata)
    gold = _check_gold(predictions, evidence)
    estimates = _order_estimates(_doubt_correction(made, gold), evidence.correction)
    by_class, used = evidence.by_class, answered.usage
    report = ModelReport(
        name=run["name"],
        run_id=run["id"],
        spec=run["spec"],
        created=run["created"],
        predictions=len(every),
        items=_count_items(every, predictions.ran, labels, evidence.labels.asked),
        fewer=int(np.count_nonzero(every.is_there & ~every.is_complete)),
        estimates=estimates,
        undefined=dict(made.undefined),
        unusable=unusable,
        checks=(*_run_checks(predictions, labels, strata), *gold),
        unreadable=answered.unreadable,
        failed=answered.failed,
        steps=answered.steps,
        refuted=_count_refuted(predictions, evidence.labels),
        input_tokens=sum(u.input_tokens for u in used),
        output_tokens=sum(u.output_tokens for u in used),
        usd=usd,
        usd_per_correct=cost_per_correct(usd, int(np.count_nonzero(every.ran)), main_estimate(estimates)),
        truth=None if evidence.truth is None else _share_right(every, evidence.truth),
        classes=None if by_class is None else by_class.report(predictions, labels, strata),
    )
    why = "; ".join(filter(None, [opened.repeated, opened.explain_choice(run["name"])]))
    return report.doubted(why) if why else report


def _order_estimates(made: Estimates, correction: Correction | None) -> dict[str, Estimate]:
    """Sort estimates in display order; estimates that another package adds come last.

    If experts make errors, estimates that allow for the errors come first, and all other estimates get a
    remark.
    """
    known = [name for name in ESTIMATOR_NAMES if name in made]
    in_order = {name: made[name] for name in dict.fromkeys([*known, *made])}
    if correction is None:
        return in_order
    first = {name: e for name, e in in_order.items() if name in CORRECTED}
    return first | _doubt(in_order, correction.errors) | first


def _run_checks(predictions: PredictionColumns, labels: LabelColumns, strata: Strata) -> tuple[Check, ...]:
    """Run the checks on the labels that the estimates use.

    As long as an expert has answered no question, no estimate is possible. A failed check then counts as not
    made, because it can have failed for lack of answers.
    """
    try:
        return run_checks(predictions, collected_part(labels, predictions.is_there)[0], strata=strata)
    except EstimateError as error:
        return tuple(
            Check.not_made(check.name, str(error))
            # a failure of `small_strata` is kept: it says that a stratum has too few labels
            if check.state == "failed" and check.name != "small_strata"
            else check
            for check in run_checks(predictions, labels, strata=strata)
        )


def _check_gold(predictions: PredictionColumns, evidence: StudyEvidence) -> tuple[Check, ...]:
    """Check whether experts err more often on options that the model predicts than on other options.

    The result is empty without gold answers.
    """
    if evidence.gold is None:
        return ()
    answers = answers_for(evidence.gold, predictions, evidence.labels.cluster)
    try:
        return (gold_errors(answers, len(evidence.labels.models)),)
    except NotIdentified as error:
        return (Check.not_made("gold_errors", str(error)),)


def _doubt_correction(estimates: Estimates, gold: tuple[Check, ...]) -> Estimates:
    """If a check of the gold answers failed, add this as a reason for doubt to the corrected estimate."""
    failed = "; ".join(f"check {c.name!r} failed: {c.message}" for c in gold if c.passed is False)
    if not failed or "corrected" not in estimates:
        return estimates
    found = estimates["corrected"]
    doubted = replace(found, why="; ".join(filter(None, [found.why, failed])))
    return Estimates({**estimates, "corrected": doubted}, estimates.undefined)


def _count_items(
    predictions: PredictionColumns, drawn: BoolArray, labels: LabelColumns, asked: BoolArray
) -> ItemCounts:
    """Count all items by state; experts' answers count only for `drawn` items with a prediction."""
    ran, failed = predictions.ran, predictions.has_failed
    said = labels.answered & drawn
    silent = labels.labelled & drawn & ~said
    put = drawn & asked
    of = predictions.index.size

    def count(items: BoolArray) -> int:
        return int(np.count_nonzero(items))

    return ItemCounts(
        of=of,
        predicted=count(ran),
        unreadable=count(predictions.is_unreadable),
        failed=count(failed),
        unpredicted=of - count(ran) - count(failed),
        labelled=count(said),
        abstained=count(silent),
        unlabelled=count(put & ~said & ~silent),
        unasked=count(drawn & ~put & ~said & ~silent),
    )


def true_accuracy(predictions: Iterable[Prediction], truth: Mapping[str, int]) -> float | None:
    """Return the share of a model's answers that are right according to the answer key; None without answers.

    Unreadable answers count as wrong; items on which the call failed are left out.

    Examples
    --------
    >>> from oversight.harness.types import Prediction
    >>> true_accuracy([Prediction("a", 0), Prediction("b", 1)], {"a": 0, "b": 0})
    0.5
    """
    rows = list(predictions)
    index = ItemIndex.of([p.item_id for p in rows])
    return _share_right(PredictionColumns.of(rows, index), truth)


def _share_right(predictions: PredictionColumns, truth: Mapping[str, int]) -> float | None:
    true_options = np.array([truth[name] for name in predictions.index.ids], dtype=np.int64)
    ran = predictions.ran
    right = np.count_nonzero(predictions.option[ran] == true_options[ran])
    return int(right) / int(np.count_nonzero(ran)) if ran.any() else None


def _count_refuted(predictions: PredictionColumns, labels: LabelColumns) -> int:
    """Return the number of items whose prediction an expert's answer contradicts."""
    option = predictions.option[labels.item]
    hit = option == labels.option
    said = (option >= 0) & np.where(hit, labels.kind == NO, labels.kind == YES)
    return int(np.count_nonzero(mark(labels.item[said], predictions.index.size)))


_PACKAGES = ("numpy", "scipy", "openai", "sqlmodel")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertReport:
    """One expert's questions and answers.

    `expected_yes_rate` is the share of yes that would be expected if the options asked about were drawn
    uniformly: the mean of 1/K over the expert's questions, where K is the number of options of the question's
    item.
    """

    name: str
    asked: int
    yes: int
    no: int
    abstained: int
    expected_yes_rate: float

    @property
    def yes_rate(self) -> float | None:
        """Share of yes among the answers yes and no; None without such answers."""
        return self.yes / (self.yes + self.no) if self.yes + self.no else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StudyReport(Displayable):
    """Results of a whole study.

    Attributes
    ----------
    clusters
        Number of clusters, and number of items in the largest cluster; None if items are independent.
    pool
        Number of items drawn for questions, and number of all items; None if no sample of items was drawn.
    left_out
        Remarks on models without answers, on judges, and on answers that are not used.
    quality
        Experts' results on control questions; empty without control questions.
    holders
        Expert → text with the names of those who have the expert's open questions, if any was reassigned.

    Examples
    --------
    >>> import oversight as ov
    >>> report = ov.study_report("study.toml")
    >>> report.n_items, report.n_answers
    (54, 54)
    """

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
    clusters: tuple[int, int] | None = None
    pool: tuple[int, int] | None = None
    left_out: Sequence[str] = ()
    quality: tuple[ExpertQuality, ...] = ()
    holders: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "estimates"

    def __str__(self) -> str:
        """Return the number of answers, then one line per model with the estimate to quote."""
        head = f"{self.name}: {self.n_answers:,} of {self.n_questions:,} questions answered"
        made = (f"{m.name}: {Estimates(m.estimates, m.undefined).headline}" for m in self.models)
        return "\n".join([head, *made])

    def records(self) -> list[dict[str, Any]]:
        """Return one row per estimate of a model, with the true accuracy if the key was opened."""
        return [
            {"model": model.name} | row | ({"truth": model.truth} if self.opened else {})
            for model in self.models
            for row in Estimates(model.estimates, model.undefined).records()
        ]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the tables shown in a notebook: every model's accuracy, then all estimates of each model."""
        accuracy = [_accuracy_row(model) for model in self.models]
        first = HtmlTable(columns=("model", "accuracy", "interval"), rows=accuracy)
        tables = [
            table
            for m in self.models
            for table in (
                estimate_table(m.estimates, m.undefined, f"{self.name}: {m.name}"),
                *(m.classes.html_tables() if m.classes else ()),
            )
        ]
        pool = (pool_text(*self.pool),) if self.pool else ()
        return (first, *tables, HtmlTable(notes=(*pool, *self.left_out)))

    @property
    def opened(self) -> bool:
        """Whether the sealed key was opened, so that true accuracies are shown."""
        return any(model.truth is not None for model in self.models)


def _accuracy_row(model: ModelReport) -> tuple[str, str, str]:
    found = model.accuracy
    return (model.name, "–", "") if found is None else (model.name, value_text(found), interval_text(found))


def report_study(
    store: Store,
    study: Study,
    *,
    runs: Sequence[str] | None = None,
    truth: Mapping[str, int] | None = None,
    options: EstimateOptions | None = None,
) -> StudyReport:
    """Estimate the accuracy of a study's models from their newest runs.

    Parameters
    ----------
    runs
        Names of the models to report; None for all except judges.
    options
        Options of the estimates; None for the study's settings.
    truth
        True option by item id, to show the true accuracy beside each estimate; None if the key stays sealed.

    Raises
    ------
    BadInput
        If there are no answers or no predictions yet, one of `options` has no effect here, or an interim
        analysis is not the next one of its plan.
    EstimateError
        If no model's data can be used.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     report = report_study(store, study)
    ...
    >>> [model.name for model in report.models]
    ['careful', 'quick']
    """
    refuse_panel(study, "estimate")
    opened = OpenStudy(study, store)
    opened.expect_answers()
    labels, chosen = opened.labels, opened.choose(runs)
    options, strata = options or EstimateOptions.of_study(study), _strata(opened)
    options.check_effect(labels, strata=strata is not None)
    by_class = plan_class_task(opened, options, strata) if options.by_class else None
    correction = opened.correction if options.gold is None else None
    if correction and correction.gold:
        options = replace(options, gold=correction.gold)
    level = options.level_now  # raises an error after the last planned analysis
    look = PlannedLook(look=options.look, looks=options.looks, **opened.questions)
    if options.looks:
        check_look(study, store, look)
    models = opened.predict(chosen)
    if options.anytime:
        _check_watchable(list(models.values()), labels)
    failures = dict[str, str]()
    made = estimate_models(
        models,
        labels,
        _side_information(opened, gold=options.gold is not None),
        level=level,
        joint=options.joint,
        failures=failures,
        progress=lambda names: with_bar(names, "models", "model"),
        strata=strata,
        **options.arguments,
    )
    if len(failures) == len(models):
        raise EstimateError(next(iter(failures.values())))
    evidence = StudyEvidence(
        labels=replace(labels, models=tuple(keep_drawn(model, labels) for model in models.values())),
        strata=strata,
        truth=truth,
        correction=correction,
        by_class=by_class,
        gold=None if options.gold is None else match_gold(store, opened.controls, opened.index),
    )
    reports = [
        _report_model(opened, run, made[run["name"]], failures.get(run["name"], ""), evidence)
        for run in chosen.runs
    ]
    if options.looks:
        note_look(store, look)
    unused = opened.tell_unused(FIRST_ONLY) if by_class and by_class.second is None else ""
    left_out = (*chosen.remarks, *filter(None, [unused]))
    return _summarise(opened, reports, left_out, options.level)


def _side_information(opened: OpenStudy, *, gold: bool) -> list[SideInformation]:
    """Return the side information: models' votes, judges, second questions, and experts' known errors.

    With `gold`, known errors are left out, because estimates are corrected by gold answers instead.
    """
    kinds: list[SideInformation] = []
    errors = None if gold else opened.correction
    if errors is not None and errors.name:
        kinds.append(ExpertErrors(opened.runs, errors.second, errors.known, errors.name))
    kinds.append(Votes(opened.runs))
    if opened.study.judges:
        kinds.append(_read_judges(opened))
    second = opened.second_labels
    return [*kinds, SecondQuestions(opened.runs, second)] if second is not None else kinds


def _read_judges(opened: OpenStudy) -> Judges:
    """Return the predictions of the study's judges, or the reason why there are none."""
    try:
        judges = opened.read_judges()
    except BadInput as error:
        return Judges(opened.runs, [], missing=f"judge: {error}")
    n_options = None if opened.labels.pool is None else opened.n_options
    return Judges(opened.runs, list(judges.values()), n_options=n_options)


def _summarise(
    opened: OpenStudy, models: Sequence[ModelReport], left_out: Sequence[str], level: float
) -> StudyReport:
    """Combine all models' reports with the study's data; intervals of experts' rates have level `level`."""
    study, store, labels = opened.study, opened.store, opened.labels
    assumed = (a for m in models for e in m.estimates.values() for a in e.assumptions)
    return StudyReport(
        name=study.study.name,
        seed=study.study.seed,
        protocol=", ".join(store.columns.read_protocols()),
        n_items=labels.index.size,
        n_questions=len(labels.drawn or ()),
        n_answers=len(labels),
        options=store.columns.count_options(),
        models=tuple(models),
        experts=_report_experts(labels),
        assumptions=tuple(dict.fromkeys(assumed)),
        versions=_read_versions(),
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        clusters=_count_clusters(labels),
        pool=opened.pool,
        left_out=left_out,
        quality=opened.controls.report(level) if opened.controls else (),
        holders=labels.holders,
    )


def _report_experts(labels: LabelColumns) -> tuple[ExpertReport, ...]:
    """Return the report of every expert with a question, sorted by name.

    A reassigned question counts for the expert who answered it or has it now.
    """
    drawn = labels.drawn or labels.questions
    person, people = drawn.answering
    number = len(people)
    asked, expected = (np.bincount(person, w, number) for w in (None, 1 / drawn.n_options))
    yes, no, abstained = (
        np.bincount(labels.questions.answering[0][labels.kind == kind], minlength=number).tolist()
        for kind in (YES, NO, ABSTAINED)
    )
    return tuple(
        ExpertReport(
            name=name,
            asked=int(asked[e]),
            yes=yes[e],
            no=no[e],
            abstained=abstained[e],
            expected_yes_rate=float(expected[e] / asked[e]),
        )
        for name, e in sorted((name, e) for e, name in enumerate(people) if asked[e])
    )


def _read_versions() -> dict[str, str]:
    """Return the versions of this project and of its numerical libraries."""
    found = {"oversight": VERSION}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _check_watchable(models: Sequence[PredictionColumns], labels: LabelColumns) -> None:
    """Refuse an anytime-valid interval if the draw of the questions rules it out for all models.

    Raises
    ------
    BadInput
        If no model can have the interval; the message says why.
    """
    reasons = []
    for predictions in models:
        try:
            drawn = keep_drawn(predictions, labels)
            check_watchable(drawn, keep_predicted(labels, drawn))
        except NotIdentified as error:
            reasons.append(str(error))
    if len(reasons) == len(models):
        raise BadInput(f"anytime: {reasons[0]}")


def _strata(opened: OpenStudy) -> Strata:
    """Return the strata: a column's values, a panel's certainty, or the model's confidence.

    A column named ``confidence`` takes precedence over the model's confidence.
    """
    study, index = opened.study, opened.index
    column = study.estimate.strata
    if study.estimate.panel is not None:
        if study.items.cluster is not None:
            raise BadInput(
                "panel: strata by a panel's certainty need independent items, but these items are in "
                f"clusters by {study.items.cluster!r} (items.cluster); leave the panel out"
            )
        path = study.path(study.estimate.panel)
        certain = stratify_by_certainty(make_panel(read_ratings(path)))
        if not certain.keys() & index.places.keys():
            raise BadInput(f"{path}: rates none of the study's items; the column item must hold their ids")
        return ItemValues.of({name: certain.get(name, "no vote") for name in index.ids}, index)
    if column is None:
        return None
    found = read_meta(study, opened.store, column)
    if column == CONFIDENCE and (found.code < 0).all():
        return CONFIDENCE
    for place in np.flatnonzero(found.code < 0):
        name = index.ids[place]
        meant = did_you_mean(column, study.items.meta) or "; name it in [items] meta"
        raise BadInput(f"estimate.strata: the item {name!r} has no column {column!r}{meant}")
    return found


def _count_clusters(labels: LabelColumns) -> tuple[int, int] | None:
    if labels.cluster is None:
        return None
    sizes = np.bincount(labels.cluster.code[labels.cluster.code >= 0])
    return int(np.count_nonzero(sizes)), int(sizes.max(initial=0))
