"""A study with its open database: questions, answers, runs, and the settings of its estimates.

Control questions serve to correct estimates for experts' errors, or to warn of the errors.

"Look J of L" means interim analysis number J of L planned ones. Its level is valid only if L was fixed
beforehand, about J/L of the answers are in, and no later look was taken. A look can be taken again only with
the same answers. `check_look` checks all this.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oversight.harness.analysis.controls import SAID, ControlAnswers, read_control_answers
from oversight.harness.analysis.inputs import advise_on_texts, study_clusters
from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import (
    RELEVANT_EXCESS,
    ItemIndex,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    count_repeated,
    mark,
)
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.estimate import (
    ErrorRanges,
    GoldAnswer,
    GoldCounts,
    find_reason,
    obrien_fleming_level,
    refuse,
)
from oversight.harness.output import counted, did_you_mean
from oversight.harness.store import AuditEvent, ControlKind, PlannedLook, RunColumns, Store


def _read_syntax(source: str) -> str:
    """Return a program's syntax tree as text, without docstrings; the source itself if it is not readable."""
    try:
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.AsyncFunctionDef | ast.FunctionDef | ast.ClassDef):
                del node.body[: ast.get_docstring(node, clean=False) is not None]
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source


def requested_interval(study: Study) -> str | None:
    """Return the interval that study.toml requests; None for the default."""
    return None if study.estimate.interval == "exact" else study.estimate.interval


def refuse_panel(study: Study, use: str) -> None:
    """Refuse a study that is a panel or has open answers, because `use` needs yes/no answers about options.

    Raises
    ------
    BadInput
        If the study is a panel or has open answers; the message says what to use instead.
    """
    if study.is_open:
        told = "does not apply to a study of open answers; see: oversight estimate"
        name = {"estimate": "report_study", "gate": "gate_study"}.get(use, f"oversight {use}")
        raise BadInput(f"{name} {told}")
    if study.experts.is_panel:
        refuse(use, {"ratings"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """Options of estimates.

    Attributes
    ----------
    interval, level, published
        As in `oversight.accuracy`.
    look, looks
        Number of this interim analysis, and number of planned analyses (O'Brien–Fleming); both are 0 for a
        single analysis.
    anytime
        Whether to add an anytime-valid interval.
    gold
        Experts' answers to items with known truth, which are used to correct estimates for experts' errors.
    joint
        Whether the intervals of all models must hold simultaneously.
    metrics, costs
        Metrics by class to add, and the file with costs of misclassification.

    Examples
    --------
    >>> options = EstimateOptions(level=0.9, metrics=("recall",))
    >>> options.by_class, options.level_now
    (True, 0.9)
    """

    interval: str | None = None
    level: float = 0.95
    published: bool = False
    look: int = 0
    looks: int = 0
    anytime: bool = False
    gold: GoldCounts | None = None
    joint: bool = False
    metrics: tuple[str, ...] = ()
    costs: Path | None = None

    @property
    def by_class(self) -> bool:
        """Whether results by class are requested."""
        return bool(self.metrics) or self.costs is not None

    @classmethod
    def of_study(cls, study: Study) -> EstimateOptions:
        """Return the options that study.toml sets. An interval equal to the default counts as not set."""
        section = study.estimate
        return cls(
            interval=requested_interval(study),
            level=section.level,
            metrics=tuple(section.metrics),
            costs=None if section.costs is None else study.path(section.costs),
        )

    @property
    def level_now(self) -> float:
        """Confidence level of the interval at this interim analysis."""
        return obrien_fleming_level(self.look, self.looks, self.level) if self.looks else self.level

    @property
    def arguments(self) -> dict[str, Any]:
        """Options that are passed unchanged to `oversight.accuracies`, as keyword arguments."""
        anytime = self.level if self.anytime else None
        return {"interval": self.interval, "published": self.published, "gold": self.gold, "anytime": anytime}

    @property
    def given(self) -> list[str]:
        """Names of the given options, as on the command line."""
        found = {
            "interval": self.interval is not None,
            "estimators": self.published,
            "look": self.looks > 0,
            "anytime": self.anytime,
            "gold": self.gold is not None,
            "joint": self.joint,
        }
        return [name for name, is_given in found.items() if is_given]

    def check_effect(self, labels: LabelColumns, *, strata: bool) -> None:
        """Refuse options of estimates that do not apply to `labels`.

        Raises
        ------
        BadInput
            If an option does not apply; the message names it.
        """
        if self.joint and self.anytime:
            raise BadInput(
                "joint, anytime: an anytime interval is for one model; leave out `joint` or `anytime`"
            )
        given = [*self.given, *(["strata"] if strata else [])]
        if given and not labels.tells_accuracy:
            raise BadInput(f"{', '.join(given)}: {find_reason('estimate', labels.conditions)}")
        if self.published and (not labels.is_even or labels.cluster is not None):
            raise BadInput(
                "estimators: 'paper' needs options drawn with equal probabilities, and independent items; "
                "leave it out"
            )


FARTHEST = 0.1
"""Maximum difference between the share of answered questions and J/L, for interim analysis J of L."""


def check_look(study: Study, store: Store, look: PlannedLook) -> None:
    """Refuse an interim analysis that is not the next one of the plan.

    Raises
    ------
    BadInput
        If the share of answered questions is far from the planned share, J/L for analysis J of L, now or
        (because questions were added since) at an earlier analysis; or if an earlier record forbids `look`,
        for example because a later analysis was recorded.
    """
    name = f"--look {look.look}/{look.looks}"
    share, planned = look.answered / look.drawn if look.drawn else 0.0, look.look / look.looks
    if abs(share - planned) > FARTHEST + 1e-9:
        raise BadInput(
            f"{name}: {look.answered} of {look.drawn} drawn questions ({share:.0%}) are answered, but this "
            f"look is planned at {planned:.0%}; the difference may be at most {100 * FARTHEST:.0f} "
            "percentage points"
        )
    before = store.content.read_looks()
    for taken in before:
        if taken.looks != look.looks:
            raise BadInput(
                f"{name}: look {taken.look} was taken when {taken.looks} looks were planned; the number of "
                "looks cannot change after the first look"
            )
        share, planned = taken.answered / max(1, look.drawn), taken.look / taken.looks
        if not study.experts.statement.asks_on and planned - share > FARTHEST + 1e-9:
            raise BadInput(
                f"{name}: questions were added after look {taken.look}, which was planned at {planned:.0%} "
                f"of the questions: its {taken.answered} answers are only {share:.0%} of the {look.drawn} "
                "questions now; use a gate without --look, or estimate --anytime: both stay valid"
            )
    last = before[-1] if before else look
    if last.look > look.look:
        told = f"look {last.look} of {look.looks} was already taken"
        raise BadInput(f"{name}: {told}; earlier looks can no longer be taken")
    if last.look == look.look and last.answered != look.answered:
        more = look.look < look.looks
        told = f"the next one is {look.look + 1}/{look.looks}" if more else "it was the last"
        now = f"but now there are {look.answered}"
        raise BadInput(f"{name}: this look was taken with {last.answered} answers, {now}; {told}")


def note_look(store: Store, look: PlannedLook) -> None:
    """Record an interim analysis in database and audit trail; recording the same one again has no effect."""
    store.content.add_look(look)
    detail = asdict(look)
    store.audit.append([AuditEvent(kind="look", way="command", key=f"look {look.look}", detail=detail)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Knowledge about experts' errors, and how estimates use it.

    Attributes
    ----------
    gold
        Answers to gold questions, if they determine both error rates; estimates are then ``corrected``.
    second, known
        Answers of second experts, shape (items,); known ranges of the error rates. Both are used only if
        `gold` is None.
    name
        Estimator that corrects for the errors if `gold` is None: ``hui_walter`` or ``bounded``. Empty if
        nothing is known about the errors.
    errors
        Observed errors of experts, in words; empty if none.
    """

    gold: GoldCounts | None
    second: IntArray
    known: ErrorRanges
    name: str
    errors: str


def describe_rates(known: ErrorRanges) -> str:
    """Describe the source of error rates, for example ``by gold (27 of 30 true options confirmed, …)``."""
    (right, missed), (false_yes, true_no) = known.gold_true, known.gold_false
    told = []
    if right + missed:
        told.append(f"{right} of {right + missed} true options confirmed")
    if false_yes + true_no:
        told.append(f"{true_no} of {false_yes + true_no} false options denied")
    if told:
        return f"by gold ({', '.join(told)})"
    (s_low, s_high), (t_low, t_high) = known.sensitivity, known.specificity
    return f"by their ranges (sensitivity {s_low:g}–{s_high:g}, specificity {t_low:g}–{t_high:g})"


def describe_errors(answers: ControlAnswers | None) -> str:
    """Return why estimates without a correction may be wrong; empty if no error of an expert was observed."""
    quality = answers.report() if answers else ()
    if not quality:
        return ""
    total = quality[-1]
    seen = (
        (total.sensitivity, "they missed the true option in {wrong} of {of} gold questions"),
        (total.specificity, "they took a false option for true in {wrong} of {of} gold questions"),
        (total.steadiness, "{wrong} of {of} repeated questions got another answer than the first time"),
        (total.agreement, "two experts differ on {wrong} of {of} questions"),
    )
    told = [
        text.format(of=rate.of, wrong=rate.of - rate.successes)
        for rate, text in seen
        if rate is not None and rate.successes < rate.of
    ]
    return f"experts err, and this number is not corrected for it: {'; '.join(told)}" if told else ""


GoldOnItem = tuple[int, int, bool, bool]
"""An answer to a gold question: position of the study's item that has the gold item's text and options, asked
option, whether this option is true, and whether the answer is right."""


def answers_for(
    gold: Sequence[GoldOnItem], predictions: PredictionColumns, clusters: ItemValues | None
) -> list[GoldAnswer]:
    """Return the gold answers about items for which a model has a prediction."""
    predicted = predictions.option
    return [
        GoldAnswer(
            about_truth=about,
            is_right=right,
            is_predicted=bool(predicted[place] == option),
            cluster=None if clusters is None else int(clusters.code[place]),
        )
        for place, option, about, right in gold
        if predicted[place] >= 0
    ]


def match_gold(store: Store, answers: ControlAnswers | None, index: ItemIndex) -> list[GoldOnItem]:
    """Find the gold answers about items that are also items of the study; empty without control questions."""
    if answers is None:
        return []
    gold = {name: found.item for name, found in store.controls.read_gold_items().items()}
    said = [
        (control, gold[control.item_id], SAID[answers.replies[control.id].value])
        for control in answers.controls
        if control.kind is ControlKind.GOLD and control.id in answers.replies
        if answers.replies[control.id].value in SAID
    ]
    same = store.content.find_same({item.text for _, item, _ in said})
    places = {(item.text, item.options): index.places[item.id] for item in same}
    rows = list[GoldOnItem]()
    for control, item, yes in said:
        place = places.get((item.text, item.options))
        if place is not None:
            about = answers.truth[control.item_id] == control.option
            rows.append((place, control.option, about, yes is about))
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRuns:
    """The chosen runs with answers.

    `left_out` contains remarks on runs without answers; `remarks` contains these and remarks on all other
    runs that are not used.
    """

    runs: Sequence[dict[str, Any]]
    left_out: Sequence[str]
    remarks: Sequence[str]

    @property
    def names(self) -> list[str]:
        """Names of the runs' models."""
        return [run["name"] for run in self.runs]


def find_newest_runs(store: Store, names: Sequence[str] | None, judges: Collection[str] = ()) -> ChosenRuns:
    """Find the newest run of each named model or, without names, of each model with answers.

    Parameters
    ----------
    names
        Names of models; None for all models except judges.
    judges
        Models that are left out unless they are named.

    Raises
    ------
    BadInput
        If a named model was not run or has no answers yet, or no model has answers.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     print([run["name"] for run in find_newest_runs(store, None).runs])
    ...
    ['careful', 'quick']
    """
    newest = {run["name"]: run for run in store.runs.read_runs()}
    if not newest:
        raise BadInput("no model was run yet; see: oversight run --help")
    for name in names or ():
        if name not in newest:
            known = f"there are: {', '.join(newest)}{did_you_mean(name, newest)}"
            raise BadInput(f"the model {name!r} was not run; {known}")
    told = [] if names else [name for name in newest if name in judges]
    runs, left_out = list[dict[str, Any]](), list[str]()
    for name in names or (name for name in newest if name not in judges):
        run = newest[name]
        if store.run_columns.has_answer(run["id"]):
            runs.append(run)
        else:
            failed = store.runs.count_predictions(run["id"])
            left_out.append(f"run {name!r} has no answers yet" + (f" ({failed} failed)" if failed else ""))
    if left_out and (names or not runs):
        raise BadInput(f"{left_out[0]}; see: oversight run --help")
    if not runs:
        raise BadInput(f"only judges have been run ({', '.join(told)}); see: oversight run --help")
    remarks = [f"{name!r} is a judge: name it with --model to see it among the models" for name in told]
    return ChosenRuns(runs=runs, left_out=left_out, remarks=(*left_out, *remarks))


class StoredRuns(Mapping[str, PredictionColumns]):
    """Predictions of runs by model name; each run is read when first used."""

    def __init__(self, store: Store, runs: Sequence[Mapping[str, Any]], index: ItemIndex) -> None:
        self.runs = {run["name"]: run for run in runs}
        self._store, self._index = store, index
        self._read = dict[str, RunColumns]()

    def answered(self, name: str) -> RunColumns:
        """Return all answers of a model's run, with their token usage."""
        if name not in self._read:
            self._read[name] = self._store.run_columns.read_run(self.runs[name]["id"], self._index)
        return self._read[name]

    def __getitem__(self, name: str) -> PredictionColumns:
        return self.answered(name).predictions

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


FIRST_ONLY = "results by class use only first questions"


class OpenStudy:
    """A study and its open database. Each property is read when it is first used, and cached.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     print(OpenStudy(study, store).questions)
    ...
    {'drawn': 54, 'answered': 54}
    """

    def __init__(self, study: Study, store: Store) -> None:
        self.study, self.store = study, store

    @cached_property
    def index(self) -> ItemIndex:
        """Ids of the study's items and their positions."""
        return self.store.columns.read_index()

    @cached_property
    def labels(self) -> LabelColumns:
        """Labels with their design: the pool, the items outside the draw, and the clusters of study.toml.

        Raises
        ------
        BadInput
            If somebody answered another expert's question, although the question was not reassigned.
        DataError
            If an item has no cluster.
        """
        labels = self.store.columns.read_labels(self.index)
        labels = replace(labels, pool=self.store.pool.read_pool(self.index))
        labels = replace(labels, outside=self._find_outside(labels), holders=self._find_holders(labels))
        clusters = study_clusters(self.study)
        if not clusters:
            return labels
        former = self.store.content.read_former_ids()
        stored = {former.get(name, name): cluster for name, cluster in clusters.items()}
        return replace(labels, cluster=ItemValues.of(stored, self.index))

    def _find_holders(self, labels: LabelColumns) -> dict[str, str]:
        """Return `LabelColumns.holders`."""
        is_open = labels.drawn is not None and (labels.answers < 0).any()
        handed = self.store.people.read_handovers() if is_open else {}
        if not handed:
            return {}
        order, holders = self.store.columns.read_order(), defaultdict[str, set[str]](set)
        for code, name in zip(order.expert.tolist(), order.open_ids, strict=True):
            if name is not None:
                first = order.experts[code]
                holders[first].add(f"{handed[name].taker} (for {first})" if name in handed else first)
        return {first: " and ".join(sorted(names)) for first, names in holders.items()}

    def _find_outside(self, labels: LabelColumns) -> BoolArray | None:
        """Return `LabelColumns.outside`: items outside the pool or, without a pool, without a question."""
        if labels.pool is None:
            outside = ~labels.asked
        elif labels.pool.size == self.index.size:
            return None
        else:
            places = self.index.find_places(self.store.pool.read_members())
            outside = ~mark(places[places >= 0], self.index.size)
        return outside if outside.any() else None

    @cached_property
    def second_labels(self) -> LabelColumns | None:
        """Labels of second questions, asked about items whose first answer was no; None if none was drawn."""
        second = self.store.columns.read_labels(self.index, second=True)
        return second if second.drawn is not None else None

    @cached_property
    def n_options(self) -> IntArray:
        """Number of options of every item, shape (items,)."""
        options = self.store.columns.read_options(self.index)
        return np.array([options[name] for name in self.index.ids], np.int64)

    @cached_property
    def controls(self) -> ControlAnswers | None:
        """Answers to control questions; None if no control question was drawn."""
        return read_control_answers(self.study, self.store)

    @cached_property
    def runs(self) -> StoredRuns:
        """The newest run of every model that has answers, including judges."""
        return StoredRuns(self.store, find_newest_runs(self.store, None).runs, self.index)

    def choose(self, names: Sequence[str] | None = None) -> ChosenRuns:
        """Choose the newest runs of the named models, or of all except judges; see `find_newest_runs`."""
        return find_newest_runs(self.store, names, self.study.judges)

    def predict(self, chosen: ChosenRuns) -> dict[str, PredictionColumns]:
        """Return the predictions of each chosen run for all items, by model name."""
        return {name: self.runs[name] for name in chosen.names}

    def read_judges(self) -> dict[str, PredictionColumns]:
        """Read the predictions of the study's judges.

        Raises
        ------
        BadInput
            If a judge was not run or has no answers yet.
        """
        judges = self.study.judges
        return self.predict(find_newest_runs(self.store, judges)) if judges else {}

    def expect_answers(self) -> None:
        """Raise BadInput unless an expert has answered."""
        if not len(self.labels):
            raise BadInput("there are no answers yet; see: oversight label --help")

    @cached_property
    def correction(self) -> Correction | None:
        """Correction for experts' errors; None if the design allows none, or if the errors are unknown."""
        answers, labels, known = self.controls, self.labels, self.rates
        has_errors = answers is not None or self.study.experts.knows_errors
        if labels.is_resolved or not labels.tells_accuracy or not has_errors:
            return None
        second = answers.find_second(labels.index) if answers else np.full(labels.index.size, -1)
        return Correction(
            gold=known.gold if known else None,
            second=second,
            known=known or ErrorRanges(),
            name="hui_walter" if (second >= 0).any() else "bounded" if known else "",
            errors=describe_errors(answers),
        )

    @cached_property
    def rates(self) -> ErrorRanges | None:
        """Ranges of experts' error rates, from gold answers and study.toml; None if neither gives any."""
        section, answers = self.study.experts, self.controls
        true, false = answers.count_gold() if answers else ((0, 0), (0, 0))
        if not section.knows_errors and sum(true) + sum(false) == 0:
            return None
        return ErrorRanges(
            sensitivity=(section.sensitivity[0], section.sensitivity[1]),
            specificity=(section.specificity[0], section.specificity[1]),
            gold_true=true,
            gold_false=(false[1], false[0]),
        )

    @cached_property
    def doubt(self) -> str:
        """Reason why estimates without a correction may be wrong; empty if no error of an expert is known."""
        known = "experts may err at the rates in study.toml, for which this number is not corrected"
        return describe_errors(self.controls) or (known if self.study.experts.knows_errors else "")

    @cached_property
    def repeated(self) -> str:
        """Warning that intervals may be too narrow; empty unless many answered items share their texts.

        Items that share their texts only with items of their cluster do not count.
        """
        labels = self.labels
        items = np.flatnonzero(labels.answered)
        cluster = None if labels.cluster is None else labels.cluster.code[items]
        found = count_repeated(self.store.columns.read_text_digests(self.index)[items], cluster)
        if found.excess <= RELEVANT_EXCESS:
            return ""
        return (
            f"{found.items} of {items.size} answered items share their text with another item, but are "
            f"treated as independent; {advise_on_texts(self.study)}"
        )

    @cached_property
    def _winners(self) -> dict[str, str]:
        """Program of each search's winner (`_read_syntax`) → id of the search; no entry if the start won."""
        searches, found = self.store.searches, dict[str, str]()
        for search in searches.read_progress():
            made = searches.read_candidates(search.id) if search.winner else []
            for other in made[1:]:
                syntax = _read_syntax(other.program.source)
                # made[0] is the start workflow, which the study would use even without a search
                if other.id == search.winner and syntax != _read_syntax(made[0].program.source):
                    found[syntax] = search.id
        return found

    def explain_choice(self, name: str) -> str:
        """Return a warning if a search chose a model's workflow by this study's answers; empty if none did.

        The model's estimate may then be too high. Workflows that differ only in comments, docstrings or
        layout count as the same.
        """
        try:  # a workflow's run stores a JSON object in place of a prompt template
            workflow = json.loads(self.runs.runs[name]["spec"]["template"])
        except ValueError:
            return ""
        source = workflow.get("source") if isinstance(workflow, dict) else None
        search = self._winners.get(_read_syntax(source)) if isinstance(source, str) else None
        if search is None:
            return ""
        return (
            f"search {search} chose this workflow by answers of this study, so its accuracy may be too high; "
            f"see the search's sealed test: oversight search show {search}"
        )

    @property
    def questions(self) -> dict[str, int]:
        """Number of questions ``drawn`` and ``answered``."""
        return {"drawn": len(self.labels.drawn or ()), "answered": len(self.labels)}

    @property
    def pool(self) -> tuple[int, int] | None:
        """Number of items drawn for questions, and number of all items; None if items were not drawn."""
        pool = self.labels.pool
        return None if pool is None else (pool.number, pool.size)

    def tell_unused(self, why: str = "only oversight estimate uses them") -> str:
        """Return a remark on how many second questions are unused, and why; empty if there are none."""
        second = len(self.store.content.read_questions(second=True))
        return f"{counted(second, 'second question')} about items answered no: {why}" if second else ""
