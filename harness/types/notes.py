"""Notes: remarks on a number, stored as a kind with data and formatted as text only for display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, unique
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
    the estimate as computed lies outside the possible range; it is cut off for display
    """

    # notes on estimates and their intervals
    OUT_OF_RANGE = "the estimate as computed lies outside the possible range; it is cut off for display"
    VALUE_OUTSIDE_INTERVAL = (
        "the estimate lies outside its own interval: estimator and interval weigh the answers differently"
    )
    LATTICE_TOO_LARGE = "too many answers for the exact interval; the score interval is used instead"
    CONTRADICTS_MODEL = (
        "the answers fit no accuracy at this level, so the interval has a higher level; see the checks"
    )
    DEGENERATE_VARIANCE = "answers of a kind are all alike; the standard error is that of half an answer less"
    ALL_UNREADABLE = "no labelled item has a readable answer of the model; unreadable answers count as wrong"
    STRATIFIED = "made of several strata or numbers of options, each by its share"
    CONDITIONED_ON_QUESTIONS = (
        "several questions were asked about an item; the estimate takes the options asked about as given"
    )
    NEVER_DIFFER = "the models agree on every item; the interval says how rarely they may differ"
    NOTHING_KNOWN_WHERE_THEY_DIFFER = (
        "no answer tells which of the models is right where they differ; only how often they differ is known"
    )
    ALLOWS_FOR_MISSING = "the interval holds whatever the unanswered questions would have been answered"
    MISSING = (
        "{}; the interval holds whatever is hidden there",
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
        "which is how far {slowest} has come",
    )
    PARTIAL_WITH_ADDED = (
        "the collection is not finished: {}",
        "{used} of {answered} answers used, those to the first {share:.0%} of every expert's questions "
        "about the first items, and about those added later, which is how far {slowest} has come",
        "partial",
    )
    JOINT = ("the intervals of all models hold together: {}", "{models} models")
    UNRESOLVED = ("{} items are not resolved: an expert was silent", "{items}")
    UNRESOLVED_WITHIN = (
        "{items} items are not resolved: an expert was silent; they could move the estimate to "
        "{least:percent} – {most:percent}",
        "{items}, value within [{least:.4f}, {most:.4f}]",
        "unresolved",
    )
    SENSITIVITY = ("experts' P(yes | the option is right), estimated with the accuracy: {}", "{rate:.3f}")
    SPECIFICITY = ("experts' P(no | the option is wrong), estimated with the accuracy: {}", "{rate:.3f}")
    VOTES_WORTH = (
        "the interval is as narrow as from {}",
        "{worth} answers without votes; there are {answers}",
    )
    SECOND_QUESTIONS = (
        "second questions: {}; all other estimates are of first answers alone",
        "{used} of {of} used",
    )
    SECOND_WORTH = ("the interval is as narrow as from {}", "{worth} first answers; there are {answers}")
    JUDGE_SAVED = (
        "the judge saved {}",
        "{saved} questions ({least} to {most} at {level:.0%}): {answers} answers say as much as {worth} "
        "without it",
    )
    JUDGE_WORTH = (
        "what the judge saved is {}",
        "not known: fewer than {least} of {answers} items are {rarer}, by these answers",
    )
    SPLIT = ("answers in the half from which weights were estimated: {}", "{answers}")
    # notes on panels
    SINGLE_LABEL_ITEMS = ("items with a single rating: {}", "{items} say nothing of agreement")
    LEARNED_AGGREGATE = (
        "the aggregate was learned from the ratings: {}",
        "items share error rates, the tail of L is approximate",
    )
    FIXED_PANEL = (
        "the annotators are a fixed panel: {}",
        "these very annotators are meant, no pool: U_e and U_star do not certify",
    )
    ASSUMPTION_1_FAILS = ("assumption 1 fails: {}", "on the oracle labels; U_e and U_star do not certify")
    ASSUMPTION_2_FAILS = (
        "assumption 2 fails: {}",
        "on the oracle labels; L is no lower bound, nothing certifies",
    )
    FEW_ITEMS = "fewer than 30 items: an accuracy of 80 % can be chance, read the intervals"
    FEW_CLUSTERS = (
        "fewer than 30 clusters of items: an accuracy of 80 % can be due to chance, so read the intervals"
    )
    NO_INTERVAL = ("no interval: {}", "{why}")
    FEW_PEOPLE = ("people whose ratings the figures rest on: {}", "{people}, at least {fewest} are advised")

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
        Values of the names in braces in the kind's sentence and remark.

    Raises
    ------
    WrongType
        If the keys of `data` differ from the names in braces of the kind.

    Examples
    --------
    >>> note = Note(NoteKind.MISSING, {"missing": 3, "of": 200})
    >>> str(note)
    '3 of 200 items failed or had no answer; the interval holds whatever is hidden there'
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
        """The note as written in JSON and frames: the flag of its kind, and the remark if there is one."""
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
    """A result with the field `notes`.

    `plain_names` maps a field to the property that replaces it in JSON and frames; an empty name omits the
    field.
    """

    __slots__ = ()
    plain_names: ClassVar[Mapping[str, str]] = {"notes": "flags"}

    @property
    def flags(self: _HasNotes) -> tuple[str, ...]:
        """The notes as written in JSON and frames."""
        return tuple(note.flag for note in self.notes)


def plain_fields(record: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a record by name; a result's fields are renamed as in its `plain_names`."""
    names = [f.name for f in fields(record)]
    if isinstance(record, ResultWithNotes):
        names = [record.plain_names.get(name, name) for name in names]
    return {name: getattr(record, name) for name in names if name}
