"""Notes: remarks on a number, stored as a kind with data and formatted as text only for display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, unique
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from oversight.harness.argument_checks import check_mapping
from oversight.harness.errors import WrongType
from oversight.harness.types.html_table import percent

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class _Words(Formatter):
    """Formats as ``str.format`` does; ``{share:percent}`` gives, for example, ``71.2 %``."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "percent":
            return percent(value)
        text: str = super().format_field(value, format_spec)
        return text


_WORDS = _Words()


@unique
class NoteKind(Enum):
    """Every kind of note: its sentence for people, and optionally a remark and a flag for programs.

    In JSON, a note is its flag, followed by the remark. The default flag is the kind's name in lower case.
    Names in braces are keys of `Note.data`; ``{}`` in a sentence stands for the remark.

    Examples
    --------
    >>> print(Note(NoteKind.OUT_OF_RANGE))
    the computed estimate lies outside the possible range; the nearest possible value is shown
    """

    # notes on estimates and their intervals
    OUT_OF_RANGE = (
        "the computed estimate lies outside the possible range; the nearest possible value is shown"
    )
    VALUE_OUTSIDE_INTERVAL = (
        "the estimate lies outside its interval, because estimator and interval weight the answers "
        "differently"
    )
    LATTICE_TOO_LARGE = "too many answers for the exact interval; the score interval is used instead"
    CONTRADICTS_MODEL = (
        "no accuracy agrees with the answers at this level, so the interval has a higher level; see the "
        "checks"
    )
    DEGENERATE_VARIANCE = (
        "all labels of one kind are right, or all are wrong; the standard error is computed as if half a "
        "label differed"
    )
    ALL_UNREADABLE = "no labelled item has a readable answer of the model; unreadable answers count as wrong"
    STRATIFIED = "combined from several strata or numbers of options, each weighted by its share"
    CONDITIONED_ON_QUESTIONS = (
        "several questions were asked about an item; the estimate is conditional on the options that "
        "were asked about"
    )
    NEVER_DIFFER = (
        "the models agree on every item; the interval contains the differences that are still possible"
    )
    NOTHING_KNOWN_WHERE_THEY_DIFFER = (
        "no answer shows which model is right on items where the models differ; only how often they "
        "differ is known"
    )
    ALLOWS_FOR_MISSING = "the interval allows for every possible answer to the unanswered questions"
    MISSING = (
        "{}; the interval allows for every possible result on these items",
        "{missing} of {of} items failed or had no answer",
    )
    ANSWERING_RATES = (
        "experts answered between {} of the questions about an option; "
        "answers are weighted inversely to these rates",
        "{least:.0%} and {most:.0%}",
    )
    PASSED_OVER = (
        "{} questions are open although their experts answered later ones; they count like unsure answers",
        "{passed} of {of}",
    )
    OPEN_ITEMS = (
        "{} items wait for an answer and are taken as right or wrong, whichever is worse",
        "{open} of {of}",
    )
    PARTIAL = (
        "the collection is not finished: {}",
        "{used} of {answered} answers used, those to the first {share:.0%} of every expert's questions, "
        "because {slowest} has answered only so many",
    )
    PARTIAL_WITH_ADDED = (
        "the collection is not finished: {}",
        "{used} of {answered} answers used, those to the first {share:.0%} of every expert's questions "
        "about the first items and about the items added later, because {slowest} has answered only so many",
        "partial",
    )
    JOINT = ("the intervals of all models hold simultaneously: {}", "{models} models")
    UNRESOLVED = ("{} items are not resolved, because an expert did not answer", "{items}")
    UNRESOLVED_WITHIN = (
        "{items} items are not resolved, because an expert did not answer; they could move the estimate to "
        "{least:percent} – {most:percent}",
        "{items}, value within [{least:.4f}, {most:.4f}]",
        "unresolved",
    )
    SENSITIVITY = (
        "experts' P(yes | the option is right), estimated jointly with the accuracy: {}",
        "{rate:.3f}",
    )
    SPECIFICITY = (
        "experts' P(no | the option is wrong), estimated jointly with the accuracy: {}",
        "{rate:.3f}",
    )
    VOTES_WORTH = (
        "the interval is as narrow as that from {}",
        "{worth} answers without votes; there are {answers} answers",
    )
    SECOND_QUESTIONS = (
        "second questions: {}; all other estimates use only first answers",
        "{used} of {of} used",
    )
    SECOND_WORTH = (
        "the interval is as narrow as that from {}",
        "{worth} first answers; there are {answers} first answers",
    )
    JUDGE_SAVED = (
        "the judge saved {}",
        "{saved} questions ({least} to {most} at {level:.0%}): {answers} answers give as narrow "
        "an interval as {worth} answers without the judge",
    )
    JUDGE_WORTH = (
        "the number of questions that the judge saved is {}",
        "not known: by these answers, fewer than {least} of {answers} items are {rarer}",
    )
    SPLIT = ("answers in the half from which weights were estimated: {}", "{answers}")
    # notes on panels
    SINGLE_LABEL_ITEMS = (
        "items with a single rating: {}",
        "{items}, which are left out",
    )
    LEARNED_AGGREGATE = (
        "the aggregate was learned from the ratings: {}",
        "items share estimated error rates, so the tail of L is approximate",
    )
    FIXED_PANEL = (
        "the annotators are a fixed panel: {}",
        "they are not drawn from a pool, so U(e) and U* do not certify",
    )
    ASSUMPTION_1_FAILS = ("assumption 1 fails: {}", "on the oracle labels; U(e) and U* do not certify")
    ASSUMPTION_2_FAILS = (
        "assumption 2 fails: {}",
        "on the oracle labels; L is then no lower bound, so nothing can be certified",
    )
    FEW_ITEMS = "fewer than 30 items: an accuracy of 80 % can be due to chance, so read the intervals"
    FEW_CLUSTERS = (
        "fewer than 30 clusters of items: an accuracy of 80 % can be due to chance, so read the intervals"
    )
    SINGLE_VOTE = (
        "certainty cannot be measured from a single vote: {}",
        "{single} of {of} choices are compared with only one other vote, so they are in no range of "
        "certainty and not in the expected score",
    )
    NO_INTERVAL = ("no interval: {}", "{why}")
    DIFFERENT_ITEMS = (
        "people rated different items, so the ranking compares scores on different items: {}",
        "each rated {least} to {most} of {of} items; on a person's items, the model scores {low:.3f} to "
        "{high:.3f}",
    )
    FEW_PEOPLE = ("number of people who rated: {}", "{people}; at least {fewest} are advised")

    def __init__(self, sentence: str, remark: str = "", flag: str = "") -> None:
        self.flag = flag or self.name.lower()
        self.sentence = sentence
        self.remark = remark
        self.keys = frozenset(name for _, name, _, _ in _WORDS.parse(sentence + remark) if name)

    def __repr__(self) -> str:
        return f"NoteKind.{self.name}"


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on a number.

    Attributes
    ----------
    kind
        Kind of note, by which programs can select notes.
    data
        Values for the placeholders (names in braces) in the kind's sentence and remark.

    Raises
    ------
    WrongType
        If the keys of `data` are not the names of the kind's placeholders.

    Examples
    --------
    >>> note = Note(NoteKind.MISSING, {"missing": 3, "of": 200})
    >>> str(note)
    '3 of 200 items failed or had no answer; the interval allows for every possible result on these items'
    >>> note.flag
    'missing: 3 of 200 items failed or had no answer'
    """

    kind: NoteKind
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_mapping("data", self.data, "names in the sentence of its kind to values")
        if self.data.keys() != self.kind.keys:
            raise WrongType("data", f"a dictionary with the keys {sorted(self.kind.keys)}", self.data)

    @property
    def flag(self) -> str:
        """The note as written in JSON and frames: the flag of the note's kind, then the remark, if any."""
        remark = self._remark()
        return f"{self.kind.flag}: {remark}" if remark else self.kind.flag

    def __str__(self) -> str:
        """Return the sentence."""
        return _WORDS.vformat(self.kind.sentence, (self._remark(),), self.data)

    def _remark(self) -> str:
        return _WORDS.vformat(self.kind.remark, (), self.data)


class _HasNotes(Protocol):
    @property
    def notes(self) -> tuple[Note, ...]: ...


class ResultWithNotes:
    """Base class of results that have a field `notes`.

    `plain_names` maps a field to the property that replaces it in JSON and frames; an empty name omits the
    field.
    """

    __slots__ = ()
    plain_names: ClassVar[Mapping[str, str]] = {"notes": "flags"}

    @property
    def flags(self: _HasNotes) -> tuple[str, ...]:
        """The notes as short texts, in the form that is written to JSON and data frames."""
        return tuple(note.flag for note in self.notes)


def plain_fields(record: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a record by name; a result's fields are renamed as in its `plain_names`."""
    return {name: getattr(record, name) for name in _plain_names(type(record))}


@cache
def _plain_names(kind: type[DataclassInstance]) -> list[str]:
    renamed = kind.plain_names if issubclass(kind, ResultWithNotes) else {}
    return [name for f in fields(kind) if (name := renamed.get(f.name, f.name))]
