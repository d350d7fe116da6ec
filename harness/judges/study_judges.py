"""How good a study's judges are, what they save, and whether their calibration holds elsewhere.

This is what ``oversight judge`` prints. Every part that the answers cannot tell has the reason in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oversight.harness.analysis import OpenStudy, refuse_panel
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
from oversight.harness.store import Store
from oversight.harness.types import Estimate, NoteKind

INFORMATIVE, MISLEADING = "informative", "misleading"
CALIBRATED, MISCALIBRATED = "calibrated", "miscalibrated"
WIDEST = 1.03
"""Times the width without judges that an interval with them may have; beyond, they are left out."""
TOLERANCE = 0.1
"""Calibration error up to which a judge counts as calibrated."""
BY_MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedAccuracy:
    """A model's accuracy with judges as side information, beside the one without.

    Attributes
    ----------
    model
        The model.
    plain
        The protocol's own estimate, or None.
    judged
        With all judges and the other models' votes; None if `why` says why not.
    saved, least, most
        Questions that judges and votes saved, with the ends of its interval; None if that cannot be told.
    why
        Why something is missing; empty if nothing is.
    """

    model: str
    plain: Estimate | None
    judged: Estimate | None
    saved: int | None
    least: int | None
    most: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportGroup:
    """Transport of a judge's calibration to one group of questions: a study, a field, a month, a model."""

    group: str
    transport: Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """All that is known of a study's judges.

    Attributes
    ----------
    scope
        Which questions are measured: ``"options"``, all of every item, or ``"predictions"``, those about
        options that models predict.
    answers
        Answered questions in the scope.
    judges
        Quality by judge.
    dependence
        How errors go together; None if `why` says why not.
    corrected
        Accuracy by model.
    transport
        By judge and group; empty unless asked for.
    why
        Why quality is withheld; empty if it is not.
    remarks
        What a reader must know beside.
    """

    study: str
    level: float
    scope: str
    answers: int
    judges: Sequence[JudgeQuality]
    dependence: Dependence | None
    corrected: Sequence[CorrectedAccuracy]
    transport: Sequence[TransportGroup]
    why: str
    remarks: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """The questions asked about a study's judges.

    Attributes
    ----------
    judges, models
        Names; None takes the study's judges, and all other models.
    against
        The study on which the calibration was made; None without one.
    by
        Column of the items, or ``"model"``, whose every group is held against the calibration made on the
        others; None without one.
    margin
        Gap up to which a calibration counts as holding.
    level
        Confidence level; None takes the study's.
    """

    judges: Sequence[str] | None = None
    models: Sequence[str] | None = None
    against: Study | None = None
    by: str | None = None
    margin: float = 0.1
    level: float | None = None


class WeighedJudges(Judges):
    """Judges by all their probabilities, and other models' votes, each weighted by what it is worth.

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name.
    judges
        What each judge says of all items.
    votes
        The same of every model, by name; a model's own votes are left out of its estimate.
    n_options
        Shape (N,).
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
        """A model's accuracy, and how many questions judges and votes saved; see `Judges.estimate`."""
        self._of = model
        return super().estimate(model, setting)

    def make_working(self, items: IntArray) -> WorkingMaker:
        """Weigh the judges and the other models' votes about these items."""
        others = [vote for name, vote in self._votes.items() if name != self._of]
        return weigh_judges([one.take(items) for one in (*self._judges, *others)])


def report_judges(store: Store, study: Study, asked: JudgeQuestion) -> JudgeReport:
    """Measure a study's judges.

    Raises
    ------
    BadInput
        If there is no judge, no answer, or a name is unknown.

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
    found: list[JudgeQuality] = []
    dependence = None
    transport: list[TransportGroup] = []
    if questions is not None:
        classes = store.columns.read_classes() or ()
        found = [
            judge_quality(name, one, questions, classes=classes, level=level) for name, one in judges.items()
        ]
        dependence = error_dependence(judges, votes, questions, level)
        transport = _check_groups(opened, asked, judges, models, questions, level)
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


def transport_verdict(groups: Sequence[TransportGroup], judge: str) -> str:
    """Fail if one group fails, else undecided if one is, else pass; of one judge.

    Examples
    --------
    >>> from oversight.harness.judges.transport import Transport
    >>> held = {"judge": "judge", "margin": 0.1, "parts": (), "calibration": None, "further": None}
    >>> found = [Transport(verdict=verdict, **held) for verdict in ("pass", "fail")]
    >>> groups = [TransportGroup(group=one.verdict, transport=one) for one in found]
    >>> transport_verdict(groups, "judge")
    'fail'
    """
    found = {group.transport.verdict for group in groups if group.transport.judge == judge}
    return next((word for word in ("fail", UNDECIDED, PASS) if word in found), UNDECIDED)


def judge_verdict(quality: JudgeQuality) -> tuple[str, str]:
    """Verdicts from a judge's area under the curve and its calibration, each possibly ``"undecided"``.

    A judge is informative if the interval of its area lies above ½, misleading if below. It is calibrated if
    the interval of its error lies below `TOLERANCE`, miscalibrated if it lies above half of that.
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
    """Return the models that are not judges, and the number of answers of each that is left out.

    Judges are measured on the items that all models answered, so a model that has just begun is left out
    unless it is named.
    """
    chosen = opened.predict(opened.choose(named or None))
    models = {name: columns for name, columns in chosen.items() if name not in judges}
    if not models:
        raise BadInput("there is no model beside the judges; see: oversight run --help")
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


def _correct(
    opened: OpenStudy,
    models: Mapping[str, PredictionColumns],
    judges: Mapping[str, JudgeProbabilities],
    votes: Mapping[str, JudgeProbabilities],
    level: float,
) -> list[CorrectedAccuracy]:
    """Estimate every model without judges and with them."""
    side = WeighedJudges(models, list(judges.values()), votes, opened.n_options)
    failures = dict[str, str]()
    made = estimate_models(models, opened.labels, [side], level=level, failures=failures)
    found = []
    for name, estimates in made.items():
        judged = estimates.get(JUDGED)
        plain = next((e for key, e in estimates.items() if key != JUDGED), None)
        why = failures.get(name, "") or estimates.undefined.get(JUDGED, "")
        if plain is not None and judged is not None and not _is_narrow(judged, plain):
            judged, why = None, "judges are left out: with them the interval is wider"
        note = next((n for n in judged.notes if n.kind is NoteKind.JUDGE_SAVED), None) if judged else None
        saved, least, most = (
            (note.data["saved"], note.data["least"], note.data["most"]) if note else (None, None, None)
        )
        found.append(
            CorrectedAccuracy(
                model=name, plain=plain, judged=judged, saved=saved, least=least, most=most, why=why
            )
        )
    return found


def _is_narrow(judged: Estimate, plain: Estimate) -> bool:
    return judged.high - judged.low <= WIDEST * (plain.high - plain.low)


def _check_groups(
    opened: OpenStudy,
    asked: JudgeQuestion,
    judges: Mapping[str, JudgeProbabilities],
    models: Mapping[str, PredictionColumns],
    questions: JudgedQuestions,
    level: float,
) -> list[TransportGroup]:
    """Hold calibrations made elsewhere against the study's answers."""
    if asked.against is not None and asked.by is not None:
        raise BadInput("--against and --by are two ways to name where a calibration was made; give one")
    found = []
    if asked.against is not None:
        for name, source_judge, source in _read_source(asked.against, judges):
            transport = _hold(name, judges[name], source_judge, source, questions, asked.margin, level)
            found.append(TransportGroup(group=asked.against.study.name, transport=transport))
    if asked.by is not None:
        for group, inside in _group(opened, asked.by, models, questions):
            for name, judge in judges.items():
                target, source = questions.take(inside), questions.take(~inside)
                transport = _hold(name, judge, judge, source, target, asked.margin, level)
                found.append(TransportGroup(group=group, transport=transport))
    return found


def _read_source(
    against: Study, judges: Mapping[str, Any]
) -> list[tuple[str, JudgeProbabilities, JudgedQuestions]]:
    """Each judge on the study where the calibration was made, with its answered questions."""
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
    target: JudgedQuestions,
    margin: float,
    level: float,
) -> Transport:
    """Calibrate on the source and check on the target; undecided where the source says too little."""
    if source.scope != target.scope:
        why = f"the calibration is of {source.scope}, the answers here are of {target.scope}"
        return _undecided(name, margin, why)
    try:
        calibration = calibrate(source_judge, source)
    except EstimateError as error:
        return _undecided(name, margin, str(error))
    return check_transport(name, judge, calibration, target, margin=margin, level=level)


def _undecided(name: str, margin: float, why: str) -> Transport:
    return Transport(
        judge=name, verdict=UNDECIDED, margin=margin, parts=(), calibration=None, further=None, why=why
    )


def _group(
    opened: OpenStudy, by: str, models: Mapping[str, PredictionColumns], questions: JudgedQuestions
) -> list[tuple[str, BoolArray]]:
    """Groups of questions by a column of the items, or by the model whose prediction they are about."""
    if by == BY_MODEL:
        chosen = {name: one.option[questions.item] == questions.option for name, one in models.items()}
        if len(chosen) < 2:
            raise BadInput("--by model: there is only one model beside the judges")
        return list(chosen.items())
    columns = {item.id: item.meta for item in opened.store.content.read_items()}
    known = sorted({name for meta in columns.values() for name in meta})
    if by not in known:
        raise BadInput(
            f"--by {by}: the items have no such column; there are: {', '.join(known) or 'none'}"
            " (keep columns with meta under [items]), and model"
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
        remarks.append(f"{opened.doubt}; judges are held against the experts' answers as they are")
    return [line for line in remarks if line]
