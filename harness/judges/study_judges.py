"""Measure a study's judges: quality, questions saved, and whether their calibration holds on other items.

``oversight judge`` prints this report. For a part that cannot be computed, the report contains the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oversight.harness.analysis import EstimateOptions, OpenStudy, refuse_panel, report_study
from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import ItemValues, PredictionColumns, keep_drawn
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.estimate import (
    JUDGED,
    PASS,
    UNDECIDED,
    Judges,
    WorkingMaker,
    check_level,
    estimate_models,
    refuse,
)
from oversight.harness.judges.dependence import Dependence, error_dependence
from oversight.harness.judges.probabilities import JudgeProbabilities
from oversight.harness.judges.quality import JudgeQuality, judge_quality
from oversight.harness.judges.questions import JudgedQuestions, judged_questions
from oversight.harness.judges.sources import read_judge
from oversight.harness.judges.transport import Transport, calibrate, check_transport
from oversight.harness.judges.weighting import weigh_judges
from oversight.harness.output import join_reasons
from oversight.harness.store import Store
from oversight.harness.types import Estimate, NoteKind

INFORMATIVE, MISLEADING = "informative", "misleading"
CALIBRATED, MISCALIBRATED = "calibrated", "miscalibrated"
WIDEST = 1.03
"""Judges are left out if they widen the interval by more than this factor."""
WIDEST_MISSING = 1.25
"""A judge's quality is marked if missing answers could widen its agreement's interval by more than this."""
TOLERANCE = 0.1
"""Largest calibration error of a judge that counts as calibrated."""
BY_MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedAccuracy:
    """A model's accuracy, estimated with and without judges as side information.

    Attributes
    ----------
    model
        Name of the model.
    plain
        Estimate without judges that ``oversight estimate`` shows; None if undefined.
    judged
        Estimate with all judges and the other models' votes; None if undefined.
    saved, least, most
        Number of questions saved by using judges and votes, and the ends of this number's interval; None if
        unknown.
    why
        Reason why `judged` is missing; empty if it is given.
    """

    model: str
    plain: Estimate | None
    judged: Estimate | None
    saved: int | None
    least: int | None
    most: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """Report on a study's judges.

    Attributes
    ----------
    scope
        Questions that the report is about: ``"options"`` (all options of every item) or ``"predictions"``
        (only options that models predict).
    answers
        Number of answered questions in the scope.
    judges
        Quality of each judge.
    dependence
        Correlation of errors; None if quality is withheld.
    corrected
        Accuracy of each model with and without judges.
    transport
        Results of the calibration test, one per judge and group of questions; empty unless requested.
    why
        Reason why `judges` and `dependence` are missing; empty if they are given.
    remarks
        Further remarks for the reader.
    """

    study: str
    level: float
    scope: str
    answers: int
    judges: Sequence[JudgeQuality]
    dependence: Dependence | None
    corrected: Sequence[CorrectedAccuracy]
    transport: Sequence[Transport]
    why: str
    remarks: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """Options of a report on a study's judges.

    Attributes
    ----------
    judges, models
        Names of judges, and names of models. None stands for all of the study's judges, or all models that
        are not judges.
    against
        Another study, on which the calibration is fitted before it is tested on this study. None omits this
        test.
    by
        Column of the items, or ``"model"``, by which questions are grouped. For each group, a calibration is
        fitted on all other groups and tested on this group. None omits these tests.
    margin
        Largest true gap (see `TransportPart`) at which a calibration is still good enough, in (0, 1).
    level
        Confidence level; None for the study's level.
    """

    judges: Sequence[str] | None = None
    models: Sequence[str] | None = None
    against: Study | None = None
    by: str | None = None
    margin: float = 0.1
    level: float | None = None


class WeighedJudges(Judges):
    """Side information from judges' probabilities and other models' votes, with learned weights.

    Parameters
    ----------
    models
        Predictions of the models whose accuracy is estimated, by name.
    judges
        Probabilities of each judge for all items.
    votes
        Predictions of every model, by name, which count as votes. A model's own votes are not used to
        estimate its accuracy.
    n_options
        Shape (N,): number of options of every item.
    """

    def __init__(
        self,
        models: Mapping[str, PredictionColumns],
        judges: Sequence[JudgeProbabilities],
        votes: Mapping[str, JudgeProbabilities],
        n_options: IntArray,
    ) -> None:
        super().__init__(models, [], n_options=n_options)
        self._judges, self._votes, self._of = list(judges), dict(votes), ""

    def estimate(self, model: str, setting: Any) -> Estimate:
        """Estimate a model's accuracy, and how many questions the use of judges and votes saves."""
        self._of = model
        return super().estimate(model, setting)

    def make_working(self, items: IntArray) -> WorkingMaker:
        """Return a function that combines judges and the other models' votes, see `weigh_judges`."""
        others = [vote for name, vote in self._votes.items() if name != self._of]
        return weigh_judges([one.take(items) for one in (*self._judges, *others)])


def report_judges(store: Store, study: Study, asked: JudgeQuestion) -> JudgeReport:
    """Measure a study's judges.

    Raises
    ------
    BadInput
        If there is no judge or no answer, or if a name is unknown.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     report = report_judges(store, study, JudgeQuestion(judges=["careful"]))
    ...
    >>> report.answers, [judge.name for judge in report.judges]
    (49, ['careful'])
    """
    refuse_panel(study, "judge")
    refuse("estimate", {"ratings"} if study.experts.is_panel else ())
    level = study.estimate.level if asked.level is None else asked.level
    check_level(level)
    opened = OpenStudy(study, store)
    opened.expect_answers()
    judges = {name: read_judge(opened, name) for name in _name_judges(study, asked.judges)}
    models, left_out = _choose_models(opened, judges, asked.models)
    votes = {
        name: JudgeProbabilities.of_predictions(
            PredictionColumns(index=one.index, option=one.option), opened.n_options
        )
        for name, one in models.items()
    }
    questions, why = _find_questions(opened, models)
    filled = () if questions is None else _fill_questions(opened, models)
    found: list[JudgeQuality] = []
    dependence = None
    transport: list[Transport] = []
    if questions is not None:
        classes = store.columns.read_classes() or ()
        found = [
            _mark_missing(judge_quality(name, one, questions, classes=classes, level=level), filled)
            for name, one in judges.items()
        ]
        dependence = error_dependence(judges, votes, questions, level)
        transport = _check_groups(opened, asked, judges, models, (questions, *filled), level)
    return JudgeReport(
        study=study.study.name,
        level=level,
        scope="" if questions is None else questions.scope,
        answers=0 if questions is None else len(questions),
        judges=found,
        dependence=dependence,
        corrected=_correct(opened, models, judges, votes, level),
        transport=transport,
        why=why,
        remarks=_remark(opened, left_out),
    )


def transport_verdict(groups: Sequence[Transport], judge: str) -> str:
    """Combine a judge's verdicts on all groups.

    The result is "fail" if any group fails, and "pass" if all groups pass. In every other case it is
    "undecided".

    Examples
    --------
    >>> from oversight.harness.judges.transport import Transport
    >>> found = [Transport(judge="a", margin=0.1, verdict=verdict) for verdict in ("pass", "fail")]
    >>> transport_verdict(found, "a")
    'fail'
    """
    found = {group.verdict for group in groups if group.judge == judge}
    return next((word for word in ("fail", UNDECIDED, PASS) if word in found), UNDECIDED)


def judge_verdict(quality: JudgeQuality) -> tuple[str, str]:
    """Return the verdicts on a judge's area under the curve and its calibration; both may be ``"undecided"``.

    A judge is informative if the interval of its area lies above ½, and misleading if that interval lies
    below ½. A judge is calibrated if the interval of its first choices' calibration error lies below
    `TOLERANCE`, and miscalibrated if it lies above half of `TOLERANCE`.
    """
    sees = UNDECIDED
    if quality.area.low is not None and quality.area.low > 0.5:
        sees = INFORMATIVE
    elif quality.area.high is not None and quality.area.high < 0.5:
        sees = MISLEADING
    states = UNDECIDED
    if quality.error.high is not None and quality.error.high <= TOLERANCE:
        states = CALIBRATED
    elif quality.error.low is not None and quality.error.low > TOLERANCE / 2:
        states = MISCALIBRATED
    return sees, states


def _name_judges(study: Study, names: Sequence[str] | None) -> Sequence[str]:
    found = study.judges if names is None else list(dict.fromkeys(names))
    if not found:
        raise BadInput('which judge? name one with --judge, or in study.toml under [models]: judge = "NAME"')
    return found


def _choose_models(
    opened: OpenStudy, judges: Mapping[str, Any], named: Sequence[str] | None = None
) -> tuple[dict[str, PredictionColumns], dict[str, int]]:
    """Return the models to measure judges on, and, for every model that is left out, its number of answers.

    Judges are measured on the items that all models answered. So a model with less than half as many answers
    as another is left out, unless the caller names the models.
    """
    chosen = opened.predict(opened.choose(named or None))
    models = {name: columns for name, columns in chosen.items() if name not in judges}
    if not models:
        raise BadInput("there is no model other than the judges; see: oversight run --help")
    answers = {name: int(columns.ran.sum()) for name, columns in models.items()}
    few = {} if named else {name: n for name, n in answers.items() if 2 * n < max(answers.values())}
    return {name: columns for name, columns in models.items() if name not in few}, few


def _find_questions(
    opened: OpenStudy, models: Mapping[str, PredictionColumns]
) -> tuple[JudgedQuestions | None, str]:
    labels = opened.labels
    try:
        return judged_questions(labels, [keep_drawn(one, labels) for one in models.values()]), ""
    except EstimateError as error:
        return None, str(error)


def _fill_questions(
    opened: OpenStudy, models: Mapping[str, PredictionColumns]
) -> tuple[JudgedQuestions, JudgedQuestions]:
    """Gather the questions twice: every missing answer counts as no, then as yes."""
    kept = [keep_drawn(one, opened.labels) for one in models.values()]
    no, yes = (judged_questions(opened.labels, kept, missing=answer) for answer in (0, 1))
    return no, yes


def _mark_missing(quality: JudgeQuality, filled: Sequence[JudgedQuestions]) -> JudgeQuality:
    """Add a reason for doubt if missing answers could make the interval of the agreement much wider."""
    answered, of, mine = quality.n + quality.silent, len(filled[0]), quality.agreement
    if answered >= of or mine.low is None or mine.high is None:
        return quality
    width, share = mine.high - mine.low, (of - answered) / of
    if (1 - share) * width + share <= WIDEST_MISSING * width:
        return quality
    why = f"{of - answered} of {of} questions have no yes or no, which could change the results too much"
    return replace(quality, why=why)


def _correct(
    opened: OpenStudy,
    models: Mapping[str, PredictionColumns],
    judges: Mapping[str, JudgeProbabilities],
    votes: Mapping[str, JudgeProbabilities],
    level: float,
) -> list[CorrectedAccuracy]:
    """Estimate every model's accuracy without and with judges."""
    side = WeighedJudges(models, list(judges.values()), votes, opened.n_options)
    failures = dict[str, str]()
    made = estimate_models(models, opened.labels, [side], level=level, failures=failures)
    shown = _read_accuracies(opened, list(models), level)
    found = []
    for name, estimates in made.items():
        judged, plain = estimates.get(JUDGED), shown.get(name)
        why = failures.get(name, "") or estimates.undefined.get(JUDGED, "")
        if plain and judged and judged.high - judged.low > WIDEST * (plain.high - plain.low):
            judged, why = None, "judges are left out, because they would make the interval wider"
        if judged is not None:
            doubts = judged.why, opened.doubt, opened.repeated, opened.explain_choice(name)
            judged = replace(judged, why=join_reasons(*doubts))
        note = next((n for n in judged.notes if n.kind is NoteKind.JUDGE_SAVED), None) if judged else None
        saving = {key: note.data[key] if note else None for key in ("saved", "least", "most")}
        found.append(CorrectedAccuracy(model=name, plain=plain, judged=judged, why=why, **saving))
    return found


def _read_accuracies(opened: OpenStudy, models: Sequence[str], level: float) -> dict[str, Estimate | None]:
    """Return each model's accuracy as ``oversight estimate`` shows it; empty if the estimation fails."""
    options = replace(EstimateOptions.of_study(opened.study), level=level, metrics=(), costs=None)
    try:
        report = report_study(opened.store, opened.study, runs=models, options=options)
    except EstimateError:
        return {}
    return {model.name: model.accuracy for model in report.models}


def _check_groups(
    opened: OpenStudy,
    asked: JudgeQuestion,
    judges: Mapping[str, JudgeProbabilities],
    models: Mapping[str, PredictionColumns],
    targets: Sequence[JudgedQuestions],
    level: float,
) -> list[Transport]:
    """Test, with the study's answers, calibrations that were fitted on another study or on other groups.

    Parameters
    ----------
    targets
        Answered questions, then the questions in which missing answers count as no, and as yes.
    """
    if asked.against is not None and asked.by is not None:
        raise BadInput("give --against or --by, not both")
    found = []
    if asked.against is not None:
        for name, source_judge, source in _read_source(asked.against, judges):
            transport = _hold(name, judges[name], source_judge, source, targets, asked.margin, level)
            found.append(replace(transport, group=asked.against.study.name))
    if asked.by is not None:
        masks = [dict(_group(opened, asked.by, models, each)) for each in targets]
        for group, inside in masks[0].items():
            source = targets[0].take(~inside)
            here = [each.take(mask[group]) for each, mask in zip(targets, masks, strict=True)]
            for name, judge in judges.items():
                transport = _hold(name, judge, judge, source, here, asked.margin, level)
                found.append(replace(transport, group=group))
    return found


def _read_source(
    against: Study, judges: Mapping[str, Any]
) -> list[tuple[str, JudgeProbabilities, JudgedQuestions]]:
    """Return each judge's name and probabilities on the study `against`, with that study's questions."""
    with Store(against.store_url) as store:
        opened = OpenStudy(against, store)
        opened.expect_answers()
        models, _ = _choose_models(opened, judges)
        questions, why = _find_questions(opened, models)
        if questions is None:
            raise BadInput(f"--against {against.study.name}: {why}")
        return [(name, read_judge(opened, name), questions) for name in judges]


def _hold(
    name: str,
    judge: JudgeProbabilities,
    source_judge: JudgeProbabilities,
    source: JudgedQuestions,
    targets: Sequence[JudgedQuestions],
    margin: float,
    level: float,
) -> Transport:
    """Fit a judge's calibration on the source, and test it on the targets (`_check_groups`).

    The verdict is "undecided" if the source has too few answers to fit a calibration, or if missing answers
    could change the verdict.
    """
    if source.scope != targets[0].scope:
        why = f"the calibration is of {source.scope}, the answers here are of {targets[0].scope}"
        return Transport(judge=name, margin=margin, why=why)
    try:
        calibration = calibrate(source_judge, source)
    except EstimateError as error:
        return Transport(judge=name, margin=margin, why=str(error))
    found, *filled = (
        check_transport(name, judge, calibration, target, margin=margin, level=level) for target in targets
    )
    if found.verdict == UNDECIDED or all(one.verdict == found.verdict for one in filled):
        return found
    missing, of = len(targets[-1]) - len(targets[0]), len(targets[-1])
    why = f"{missing} of {of} questions have no yes or no, and their answers could change the verdict"
    return replace(found, verdict=UNDECIDED, further=None, why=why, missing=missing)


def _group(
    opened: OpenStudy, by: str, models: Mapping[str, PredictionColumns], questions: JudgedQuestions
) -> list[tuple[str, BoolArray]]:
    """Group questions by a column of the items, or by the model that predicts the option asked about.

    Returns pairs (name of the group, mask of its questions).
    """
    if by == BY_MODEL:
        chosen = {name: one.option[questions.item] == questions.option for name, one in models.items()}
        if len(chosen) < 2:
            raise BadInput("--by model: there is only one model other than the judges")
        return list(chosen.items())
    columns = {item.id: item.meta for item in opened.store.content.read_items()}
    known = sorted({name for meta in columns.values() for name in meta})
    if by not in known:
        raise BadInput(
            f"--by {by}: must be 'model' or a column of the items; the columns are: "
            f"{', '.join(known) or 'none'} (to keep a column, name it in meta under [items])"
        )
    values = ItemValues.of({name: meta.get(by, "") for name, meta in columns.items()}, opened.index)
    code = values.code[questions.item]
    if len(np.unique(code)) < 2:
        raise BadInput(f"--by {by}: all answered questions have the same value")
    return [(values.names[j], np.asarray(code == j)) for j in np.unique(code)]


def _remark(opened: OpenStudy, left_out: Mapping[str, int]) -> list[str]:
    remarks = [
        f"{name} answered only {n} of {opened.n_options.size} items and is left out; use it with --model"
        for name, n in left_out.items()
    ]
    remarks += [opened.repeated, opened.tell_unused()]
    if opened.doubt:
        remarks.append(f"{opened.doubt}; judges are compared with the experts' answers as given")
    return [line for line in remarks if line]
