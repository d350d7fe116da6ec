"""Notes: what a reader must know of a number, as values; sentences are made only where they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from oversight.harness.errors import WrongType
from oversight.harness.expected import check_mapping
from oversight.harness.types.html_table import percent

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class _Words(Formatter):
    """Formats as ``str.format`` does, and ``{share:percent}`` as per cent with a space."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "percent":
            return percent(value)
        text: str = super().format_field(value, format_spec)
        return text


_WORDS = _Words()


class NoteKind(Enum):
    """Every kind of note: its flag in JSON, its sentence, and the remark that follows the flag after a colon.

    Names in braces are keys of `Note.data`; ``{}`` in a sentence is the remark.
    """

    # of estimates and their intervals
    OUT_OF_RANGE = (
        "out_of_range",
        "the estimate as computed lies outside the possible range; it is cut off for display",
    )
    VALUE_OUTSIDE_INTERVAL = (
        "value_outside_interval",
        "the estimate lies outside its own interval: estimator and interval weigh the answers differently",
    )
    LATTICE_TOO_LARGE = (
        "lattice_too_large",
        "too many answers for the exact interval; the score interval stands in",
    )
    CONTRADICTS_MODEL = (
        "contradicts_model",
        "the answers fit no accuracy at this level, so that the interval is of a higher one; see the checks",
    )
    DEGENERATE_VARIANCE = (
        "degenerate_variance",
        "answers of a kind are all alike; the standard error is that of half an answer less",
    )
    ALL_UNREADABLE = (
        "all_unreadable",
        "no labelled item has a readable answer; an unreadable one counts as wrong",
    )
    STRATIFIED = ("stratified", "made of several strata or numbers of options, each by its share")
    CONDITIONED_ON_QUESTIONS = (
        "conditioned_on_questions",
        "several questions were asked about an item; the estimate takes the options asked about as given",
    )
    NEVER_DIFFER = (
        "never_differ",
        "the models agree on every item; the interval says how rarely they may differ",
    )
    NOTHING_KNOWN_WHERE_THEY_DIFFER = (
        "nothing_known_where_they_differ",
        "no answer tells which of the models is right where they differ; only how often they differ is known",
    )
    ALLOWS_FOR_MISSING = (
        "allows_for_missing",
        "the interval holds whatever the unanswered questions would have been answered",
    )
    MISSING = (
        "missing",
        "{}; the interval holds whatever is hidden there",
        "{missing} of {of} items failed or had no answer",
    )
    ANSWERING_RATES = (
        "answering_rates",
        "experts answered between {} of the questions about an option; answers count in inverse proportion",
        "{least:.0%} and {most:.0%}",
    )
    PASSED_OVER = (
        "passed_over",
        "{} questions are open although their experts answered later ones; they count like unsure answers",
        "{passed} of {of}",
    )
    OPEN_ITEMS = (
        "open_items",
        "{} items wait for an answer and are taken as right or wrong, whichever is worse",
        "{open} of {of}",
    )
    PARTIAL = (
        "partial",
        "the collection is not finished: {}",
        "{used} of {answered} answers used, those to the first {share:.0%} of every expert's questions, "
        "which is how far {slowest} has come",
    )
    PARTIAL_WITH_ADDED = (
        "partial",
        "the collection is not finished: {}",
        "{used} of {answered} answers used, those to the first {share:.0%} of every expert's questions about "
        "the first items, and about those added later, which is how far {slowest} has come",
    )
    JOINT = ("joint", "the intervals of all models hold together: {}", "{models} models")
    UNRESOLVED = ("unresolved", "{} items are not resolved: an expert was silent", "{items}")
    UNRESOLVED_WITHIN = (
        "unresolved",
        "{items} items are not resolved: an expert was silent; they could move the estimate to "
        "{least:percent} – {most:percent}",
        "{items}, value within [{least:.4f}, {most:.4f}]",
    )
    SENSITIVITY = ("sensitivity", "experts' P(yes | it is), as estimated beside: {}", "{rate:.3f}")
    SPECIFICITY = ("specificity", "experts' P(no | it is not), as estimated beside: {}", "{rate:.3f}")
    VOTES_WORTH = (
        "votes_worth",
        "the interval is as narrow as from {}",
        "{worth} answers without votes; there are {answers}",
    )
    SECOND_QUESTIONS = (
        "second_questions",
        "second questions: {}; all other estimates are of first answers alone",
        "{used} of {of} used",
    )
    SECOND_WORTH = (
        "second_worth",
        "the interval is as narrow as from {}",
        "{worth} first answers; there are {answers}",
    )
    JUDGE_SAVED = (
        "judge_saved",
        "the judge saved {}",
        "{saved} questions ({least} to {most} at {level:.0%}): {answers} answers say as much as {worth} "
        "without it",
    )
    JUDGE_WORTH_UNKNOWN = (
        "judge_worth",
        "what the judge saved is {}",
        "not known: fewer than {least} of {answers} items are {rarer}, by these answers",
    )
    SPLIT = ("split", "answers in the half that weights were taken from: {}", "{answers}")
    # of panels
    SINGLE_LABEL_ITEMS = (
        "single_label_items",
        "items with a single rating: {}",
        "{items} say nothing of agreement",
    )
    LEARNED_AGGREGATE = (
        "learned_aggregate",
        "the aggregate was learned from the ratings: {}",
        "items share error rates, the tail of L is approximate",
    )
    FIXED_PANEL = (
        "fixed_panel",
        "the annotators are a fixed panel: {}",
        "these very annotators are meant, no pool: U_e and U_star do not certify",
    )
    ASSUMPTION_1_FAILS = (
        "assumption_1_fails",
        "assumption 1 fails: {}",
        "on the oracle labels; U_e and U_star do not certify",
    )
    ASSUMPTION_2_FAILS = (
        "assumption_2_fails",
        "assumption 2 fails: {}",
        "on the oracle labels; L is no lower bound, nothing certifies",
    )
    FEW_ITEMS = ("few_items", "fewer than 30 items: an accuracy of 80 % can be chance, read the intervals")
    FEW_CLUSTERS = (
        "few_clusters",
        "fewer than 30 clusters of items: an accuracy of 80 % can be chance, read the intervals",
    )
    NO_INTERVAL = ("no_interval", "no interval: {}", "{why}")
    FEW_PEOPLE = (
        "few_people",
        "people whose ratings the figures rest on: {}",
        "{people}, at least {fewest} are advised",
    )

    def __init__(self, flag: str, sentence: str, remark: str = "") -> None:
        self.flag = flag
        self.sentence = sentence
        self.remark = remark
        self.keys = frozenset(name for _, name, _, _ in _WORDS.parse(sentence + remark) if name)

    def __repr__(self) -> str:
        return f"NoteKind.{self.name}"


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that a reader must know of a number.

    Attributes
    ----------
    kind
        What kind of note it is; what a program asks.
    data
        The numbers and names that the sentence of its kind mentions, by name.

    Raises
    ------
    WrongType
        If `data` has other keys than the kind.

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
        """Its form in JSON and in frames: the flag of its kind, with a remark where it has one."""
        remark = self._remark()
        return f"{self.kind.flag}: {remark}" if remark else self.kind.flag

    def __str__(self) -> str:
        """Its sentence."""
        return _WORDS.vformat(self.kind.sentence, (self._remark(),), self.data)

    def _remark(self) -> str:
        return _WORDS.vformat(self.kind.remark, (), self.data)


class _HasNotes(Protocol):
    @property
    def notes(self) -> tuple[Note, ...]: ...


class Noted:
    """A result with the field `notes`.

    `plain_names` says which property stands for a field in JSON and frames; empty if none does.
    """

    __slots__ = ()
    plain_names: ClassVar[Mapping[str, str]] = {"notes": "flags"}

    @property
    def flags(self: _HasNotes) -> tuple[str, ...]:
        """The notes as JSON and frames have them."""
        return tuple(note.flag for note in self.notes)


def plain_fields(record: DataclassInstance) -> dict[str, Any]:
    """Fields of a record by name; those of a result as its `plain_names` say, `flags` in place of `notes`."""
    names = [f.name for f in fields(record)]
    if isinstance(record, Noted):
        names = [record.plain_names.get(name, name) for name in names]
    return {name: getattr(record, name) for name in names if name}
