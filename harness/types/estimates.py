"""Intervals, estimates and their counts as frozen dataclasses, and functions that format them as text.

Pandas and matplotlib are imported only by the functions that need them, because importing them is slow.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from oversight.harness.argument_checks import check_names, check_records
from oversight.harness.distribution import install_line
from oversight.harness.errors import ConfigError, WrongType
from oversight.harness.types.html_table import HtmlTable, level_text, percent, span, write_html
from oversight.harness.types.notes import Note, NoteKind, ResultWithNotes, plain_fields

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class Displayable(ABC):
    """A result that can be shown as text, rows, HTML tables and a plot.

    Attributes
    ----------
    picture
        Name of the function in `oversight.harness.plot` that draws the result.
    """

    __slots__ = ()
    picture: ClassVar[str]

    @abstractmethod
    def __str__(self) -> str:
        """Return the result in a few lines, beginning with the verdict or the number."""

    def __repr__(self) -> str:
        return str(self)

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, which all have the same keys."""

    @abstractmethod
    def html_tables(self) -> Sequence[HtmlTable]:
        """Return the tables that a notebook shows below the headline."""

    def to_frame(self) -> DataFrame:
        """Return the rows as a pandas frame; see the function `to_frame`."""
        return to_frame(self)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the result with matplotlib, see `oversight.harness.plot`.

        Parameters
        ----------
        axes
            Axes to draw on; None creates new axes. The figure is ``result.plot().figure``.

        Raises
        ------
        ConfigError
            If the ``report`` extra is missing.
        """
        # The module is imported by name here, because it is in a higher layer than this folder.
        pictures = importlib.import_module("oversight.harness.plot")
        drawn: Axes = getattr(pictures, self.picture)(self, axes=axes)
        return drawn

    def _repr_html_(self) -> str:
        headline = HtmlTable(title=str(self).partition("\n")[0])
        return write_html([headline, *self.html_tables()])


def to_frame(result: Displayable | Mapping[str, Displayable] | Iterable[Any]) -> DataFrame:
    """Convert one or more results, or records (for example items or labels), to a pandas frame.

    Parameters
    ----------
    result
        A result, for example an estimate, a comparison or a plan; a dictionary from name to result, whose
        keys become the column ``name``; or a list of records, whose fields become columns. Entries in the
        `meta` of an item become columns as well.

    Raises
    ------
    ConfigError
        If pandas is not installed.
    WrongType
        If `result` has another type.

    Examples
    --------
    >>> import oversight as ov
    >>> found = ov.estimate_counts(4, S_o=77, n_o=120, S_c=321, n_c=360)
    >>> to_frame(found)[["estimator", "value"]].round(3).head(2)
      estimator  value
    0       ord  0.642
    1      comp  0.675
    """
    try:
        import pandas as pd
    except ImportError:
        raise ConfigError(f"frames need: {install_line('frames')}") from None
    return pd.DataFrame(_records(result))


def _records(result: object) -> list[dict[str, Any]]:
    if isinstance(result, Displayable):
        return result.records()
    if isinstance(result, Mapping):
        return [{"name": name} | record for name, one in result.items() for record in _records(one)]
    if isinstance(result, Iterable) and not isinstance(result, str | bytes):
        return [_fields(record) for record in result]
    raise WrongType("result", "a result or a list of records", result)


def _fields(record: object) -> dict[str, Any]:
    """Return a dictionary with one value per field; the entries of `meta` become separate fields."""
    if isinstance(record, Displayable):
        (only,) = record.records()
        return only
    if not is_dataclass(record) or isinstance(record, type):
        raise WrongType("result", "a result or a list of records", record)
    found = plain_fields(record)
    more = found.pop("meta", {})
    plain = {name: value.value if isinstance(value, Enum) else value for name, value in found.items()}
    return plain | {name: value for name, value in more.items() if name not in plain}


_WORDS = {
    "anytime": "any time",
    "bernstein": "Bernstein bound",
    "blaker": "Blaker",
    "clopper-pearson": "Clopper–Pearson",
    "delta": "delta method",
    "gold": "gold items",
    "gold-score": "score test with gold items",
    "hoeffding": "Hoeffding bound",
    "jeffreys": "Jeffreys",
    "likelihood-ratio": "likelihood ratio",
    "mcnemar": "McNemar",
    "mover": "strata combined",
    "paired": "paired items",
    "profile-likelihood": "profile likelihood",
    "ranges": "ranges of error rates",
    "score": "score test",
    "share": "readable share",
    "sign": "sign test",
    "square-and-add": "parts combined",
    "strata": "strata of the draw",
    "tilted-score": "tilted score test",
    "two-phase-score": "score test in two phases",
    "wald": "normal approximation",
    "wald-logit": "normal approximation (logit)",
    "weighted-score": "weighted score test",
    "wilson": "Wilson",
    "worst-case": "worst case",
}


def method_words(method: str) -> str:
    """Translate method names to words, for example ``score + share`` to ``score test, readable share``."""
    parts = [part.strip().replace("_", "-") for part in method.split("+")]
    return ", ".join(" or ".join(_WORDS.get(name, name) for name in part.split("/")) for part in parts)


WORST_CASE = "worst-case"
"""Step that widens an interval until it is valid for any values of the missing answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval: ends, confidence level, method and notes.

    Attributes
    ----------
    low, high
        Ends, on the scale of the estimated value.
    level
        Confidence level, in (0, 1).
    method
        Name of the method that computed the interval.
    steps
        Names of the changes applied to the method's interval, in order, for example `WORST_CASE`.
    notes
        Reasons for caution.
    why
        Why the interval may cover the truth less often than `level`; empty if nothing suggests that.
    """

    low: float
    high: float
    level: float
    method: str
    steps: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    why: str = ""

    @property
    def name(self) -> str:
        """The method and the steps as written in JSON, for example ``exact+share``."""
        return "+".join((self.method, *self.steps))


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts behind an estimate; they count items unless stated otherwise.

    Attributes
    ----------
    ordinary, complementary
        Numbers of labels used: `ordinary` labels come from yes answers, `complementary` labels from no
        answers.
    abstained
        Questions that the expert answered with "unsure" or skipped (missing labels).
    unreadable
        Labelled items on which the model's reply named no option; they count as wrong.
    failed
        Labelled items without a prediction because every call failed; they are excluded.
    unlabelled
        Predicted items about which experts were asked, but without a label.
    unasked
        Predicted items about which no expert was asked. If only the labels are known, and not the questions,
        these items count as `unlabelled`.
    unpredicted
        Items about which experts were asked, but on which the model was not run.
    """

    ordinary: int = 0
    complementary: int = 0
    abstained: int = 0
    unreadable: int = 0
    failed: int = 0
    unlabelled: int = 0
    unasked: int = 0
    unpredicted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Estimate(ResultWithNotes, Displayable):
    """An estimated quantity with its interval and counts.

    Attributes
    ----------
    value
        The point estimate. It is *not* clipped to [0, 1], because clipping would bias it; see `clipped`.
    low, high
        Ends of the interval of confidence `level`, within [0, 1] for accuracies.
    se
        Standard error; None if the method has none.
    level
        Confidence level, for example 0.95.
    estimator
        ``"ord"``, ``"comp"``, ``"ivw"``, ``"ivw_half"``, ``"ml"``, …
    method, steps
        How the interval was computed, see `Interval`: ``"exact"``, ``"score"``, ``"wald"``, …
    n
        The counts behind the estimate.
    assumptions
        Conditions under which the estimate is valid, in words.
    notes
        Remarks for the reader; see also `all_notes`.
    why
        Why the interval may cover the truth less often than `level`; empty if nothing suggests that.

    Examples
    --------
    >>> import oversight as ov
    >>> found = ov.estimate_counts(4, S_o=77, n_o=120, S_c=321, n_c=360)["ml"]
    >>> print(f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]", found.holds)
    0.656 [0.587, 0.717] True
    """

    value: float
    low: float
    high: float
    se: float | None
    level: float
    estimator: str
    method: str
    steps: tuple[str, ...] = ()
    n: Counts = Counts()
    assumptions: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    why: str = ""

    picture: ClassVar[str] = "estimates"
    plain_names: ClassVar[Mapping[str, str]] = {"notes": "flags", "method": "interval", "steps": ""}

    def __post_init__(self) -> None:
        check_names("steps", self.steps)
        check_names("assumptions", self.assumptions)
        check_records("notes", self.notes, Note)

    @classmethod
    def from_interval(
        cls,
        *,
        value: float,
        interval: Interval,
        estimator: str,
        n: Counts,
        assumptions: tuple[str, ...],
        se: float | None = None,
    ) -> Estimate:
        """Create an estimate from a value and its interval."""
        shared = {field.name: getattr(interval, field.name) for field in fields(interval)}
        return cls(value=value, se=se, estimator=estimator, n=n, assumptions=assumptions, **shared)

    @property
    def interval(self) -> str:
        """The interval's method and steps as written in JSON, for example ``exact+share``."""
        return "+".join((self.method, *self.steps))

    @property
    def holds(self) -> bool:
        """Whether the interval has its confidence level under the assumptions, that is, `why` is empty."""
        return not self.why

    @property
    def is_cost(self) -> bool:
        """Whether the estimate is a mean cost in the user's unit instead of a share in [0, 1]."""
        return self.estimator == "cost"

    @property
    def all_notes(self) -> tuple[Note, ...]:
        """The field `notes`; if the value lies outside the interval, a note that says so is included."""
        is_inside = self.low - _ROUNDING <= self.value <= self.high + _ROUNDING
        kinds = {note.kind for note in self.notes}
        if is_inside or kinds & {NoteKind.OUT_OF_RANGE, NoteKind.VALUE_OUTSIDE_INTERVAL}:
            return self.notes
        return (*self.notes, Note(NoteKind.VALUE_OUTSIDE_INTERVAL))

    @property
    def clipped(self) -> float:
        """`value` clipped to [0, 1], for display only; a mean cost is not clipped."""
        if self.is_cost:
            return self.value
        return min(1.0, max(0.0, self.value))

    def records(self) -> list[dict[str, Any]]:
        """Return one row; the counts in `n` become columns."""
        plain = plain_fields(self)
        counts, flags = asdict(plain.pop("n")), plain.pop("flags")
        first = {"estimator": plain.pop("estimator"), **plain, "holds": self.holds}
        return [first | {"flags": ", ".join(flags), "assumptions": "; ".join(self.assumptions), **counts}]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the notes that a notebook shows below the headline."""
        return (HtmlTable(notes=note_lines({self.estimator: self}, {})),)

    def __str__(self) -> str:
        """Format as ``0.712 [0.664, 0.757] ML, exact 95% · 80 ordinary + 9 complementary``.

        (!) at the beginning marks a doubtful interval; the reason for doubt is at the end.
        """
        mark = "" if self.holds else "(!) "
        parts = [
            f"{mark}{self.clipped:.3f} [{self.low:.3f}, {self.high:.3f}] {self.estimator.upper()}, "
            f"{self.interval} {level_text(self.level)}",
            f"{self.n.ordinary} ordinary + {self.n.complementary} complementary",
        ]
        parts += [
            f"{count} {name}"
            for name, count in (
                ("abstained", self.n.abstained),
                ("unreadable", self.n.unreadable),
                ("failed", self.n.failed),
            )
            if count
        ]
        if self.why:
            parts.append(f"the interval may not hold: {self.why}")
        return " · ".join(parts)


OUTSIDE = "* the computed value lies outside 0–100 % and is shown cut off"

ESTIMATOR_NAMES = {
    "resolved": "Resolved items",
    "routed": "Routed (G)",
    "ml": "ML",
    "ivw": "IVW",
    "ivw_half": "IVW, w = ½",
    "ord": "Ord (yes only)",
    "comp": "Comp (no only)",
    "assisted": "Model-assisted",
    "judged": "Prediction-powered",
    "deepened": "Two-phase",
    "anytime": "ML, any time",
    "corrected": "Corrected (gold)",
    "hui_walter": "Corrected (second experts)",
    "bounded": "Bounded (known error rates)",
    "worst_case": "Worst case (failed, unanswered)",
}
"""Names of the estimators in tables and plots, in display order."""


def estimator_name(name: str) -> str:
    """Return the name that tables and plots show for an estimator."""
    return "Accuracy" if name == "accuracy" else ESTIMATOR_NAMES.get(name, name)


def value_text(estimate: Estimate) -> str:
    """Format a share as ``71.2 %``, with a star if it was clipped, or a cost as a plain number."""
    if estimate.is_cost:
        return f"{estimate.value:.4g}"
    return percent(estimate.clipped) + ("*" if estimate.value != estimate.clipped else "")


def interval_text(estimate: Estimate) -> str:
    """Format the interval of a share as ``66.4 % – 75.7 %``, or that of a cost as plain numbers.

    (!) at the end marks a doubtful interval.
    """
    numbers = f"{estimate.low:.4g} – {estimate.high:.4g}"
    text = numbers if estimate.is_cost else span(estimate.low, estimate.high)
    return text + ("" if estimate.holds else " (!)")


def caution_text(estimate: Estimate) -> str:
    """Return the warning shown directly below a doubtful interval; empty if `Estimate.holds`."""
    return "" if estimate.holds else f"(!) may not hold: {estimate.why}"


def caution_lines(estimates: Mapping[str, Estimate]) -> list[str]:
    """Return one warning per reason why intervals may not be valid, with the estimators it concerns."""
    about: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        if not estimate.holds:
            about.setdefault(estimate.why, []).append(estimator_name(name))
    return [f"(!) {' · '.join(names)} may not hold: {why}" for why, names in about.items()]


def method_text(estimate: Estimate) -> str:
    """Format method and level, for example ``Wilson 95%``."""
    return f"{method_words(estimate.interval)} {level_text(estimate.level)}"


def note_lines(estimates: Mapping[str, Estimate], undefined: Mapping[str, str]) -> list[str]:
    """Return the notes, each with the estimators that it concerns, and reasons for missing estimates."""
    about: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        for note in estimate.all_notes:
            about.setdefault(str(note), []).append(estimator_name(name))
        if estimate.value != estimate.clipped:
            about.setdefault(f"{percent(estimate.value)} as computed", []).append(estimator_name(name))
    lines = [
        f"{'all estimates' if len(names) == len(estimates) > 1 else ' · '.join(names)}: {note}"
        for note, names in about.items()
    ]
    return lines + [f"{estimator_name(name)}: no estimate: {why}" for name, why in undefined.items()]


def estimate_table(
    estimates: Mapping[str, Estimate],
    undefined: Mapping[str, str],
    title: str = "Accuracy",
    column: str = "accuracy",
) -> HtmlTable:
    """Return a table with one row per estimate, and the notes below it."""
    rows = [
        (estimator_name(name), value_text(e), interval_text(e), method_text(e))
        for name, e in estimates.items()
    ]
    outside = [OUTSIDE] if any(e.value != e.clipped for e in estimates.values()) else []
    return HtmlTable(
        title=title,
        columns=("estimator", column, "interval", "method"),
        rows=rows,
        notes=(*caution_lines(estimates), *note_lines(estimates, undefined), *outside),
    )


CORRECTED = ("corrected", "hui_walter", "bounded")
"""Estimators that correct for experts' errors: with gold items, second experts or known error rates."""
PROTOCOLS_OWN = ("resolved", "routed", "ml")
"""Main estimators of the protocols; a study has only one of them."""


def protocol_estimate(estimates: Mapping[str, Estimate]) -> Estimate | None:
    """Return the protocol's own estimate, which treats every answer as correct; None if none exists."""
    return next((estimates[name] for name in PROTOCOLS_OWN if name in estimates), None)


def main_name(estimates: Mapping[str, Estimate]) -> str:
    """Return the name of the one estimate to show; empty if no main estimate was computed.

    The estimate corrected for experts' errors comes first if the study corrects for them, then the estimate
    of the protocol. The rule does not depend on the data. Intervals are never compared, because the narrowest
    of several 95 % intervals covers the truth in less than 95 % of studies.

    Examples
    --------
    >>> from oversight.harness.estimate import estimate_counts
    >>> main_name(estimate_counts(K=4, S_o=77, n_o=120, S_c=321, n_c=360))
    'ml'
    >>> main_name({})
    ''
    """
    return next((name for name in (*CORRECTED, *PROTOCOLS_OWN) if name in estimates), "")


def main_estimate(estimates: Mapping[str, Estimate]) -> Estimate | None:
    """Return the one estimate to show for a model (`main_name` chooses it), or None if there is none."""
    return estimates.get(main_name(estimates))


_STEPS = {
    "form": "in the form asked for",
    "mark": "by another unambiguous mark",
    "whole": "from replies that are only an option",
    "statement": "from a statement in a sentence",
    "log": "by another program",
}
_MOST_LOOSE = 0.05


def reading_lines(steps: Mapping[str, int]) -> list[str]:
    """Summarise how answers were read; warn if over 5 % come from free statements.

    There are no lines for imported logs.


    Examples
    --------
    >>> reading_lines({"form": 8, "statement": 2})[0]
    'answers were read: 8 in the form asked for, 2 from a statement in a sentence'
    """
    known = {step: n for step, n in steps.items() if step}
    total, loose = sum(known.values()), known.get("statement", 0)
    if not total or known.keys() == {"log"}:
        return []
    counts = [f"{known[step]} {words}" for step, words in _STEPS.items() if known.get(step)]
    lines = [f"answers were read: {', '.join(counts)}"]
    if loose > _MOST_LOOSE * total:
        lines.append(
            f"{percent(loose / total)} of the answers were read from free statements: check some of them, or "
            "ask for a fixed form (answer and pattern under [prompt])"
        )
    return lines
