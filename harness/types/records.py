"""Items, questions, answers, labels, predictions, ratings and findings as frozen dataclasses.

Options are counted from 0 and always refer to the item's options *in source order*. The order that a model
or an expert sees is `Item.permutation`, which is used for display only.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from oversight.harness.errors import EstimateError, WrongType

_EMPTY: Mapping[str, str] = MappingProxyType({})

OPEN_ANSWER = "an answer in words"
"""The only option of an item whose answer is a free text."""
UNIT_PREFIX = "unit:"
"""Prefix of the ids of items that ask about one unit (a criterion or part) of an open answer."""

SECOND_QUESTIONS = "second-questions"
"""Value of `Question.protocol` for second questions about items whose first answer was no. Only the two-phase
estimate, which accounts for how these questions were drawn, uses their answers."""


PLACES = 2**32
"""Number of places reserved for each draw of questions: draw d has places from d · 2³² on."""


def draw_place(question_id: str) -> int:
    """Derive a question's place within its draw: the first 32 bits of its id, which is a hash.

    Examples
    --------
    >>> draw_place("00000010a7c3e9f1")
    16
    """
    return int(question_id[:8], 16)


class Verdict(StrEnum):
    """An expert's answer to "is option k the answer?".

    Examples
    --------
    >>> Verdict("yes") is Verdict.YES, [str(verdict) for verdict in Verdict]
    (True, ['yes', 'no', 'unsure', 'skip'])
    """

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"
    SKIP = "skip"


class LabelKind(StrEnum):
    """Kind of information that an answer gives about the true option.

    Examples
    --------
    >>> [str(kind) for kind in LabelKind]
    ['ordinary', 'complementary', 'abstained']
    """

    ORDINARY = "ordinary"
    """The answer is this option."""
    COMPLEMENTARY = "complementary"
    """The answer is not this option."""
    ABSTAINED = "abstained"
    """The expert was unsure or skipped the question: missing data, stored and counted."""


class Source(StrEnum):
    """Origin of a prediction, which also determines its cost."""

    CALL = "call"
    BATCH = "batch"
    """The endpoint's Batch API, which has lower prices."""
    IMPORT = "import"
    """Imported from another program, so this study paid nothing."""


class PredictionStatus(StrEnum):
    """Outcome of a model's answer.

    Examples
    --------
    >>> [str(status) for status in PredictionStatus if status.no_option]
    ['unreadable', 'truncated']
    """

    OK = "ok"
    UNREADABLE = "unreadable"
    """The model answered, but named no option; the answer counts as wrong."""
    TRUNCATED = "truncated"
    """The token limit ended the answer before it named an option; the answer counts as wrong."""
    FAILED = "failed"
    """No answer arrived, even after all retries; the item is excluded and counted."""

    @property
    def no_option(self) -> bool:
        """Whether the model answered without naming an option, which counts as wrong."""
        return self in (PredictionStatus.UNREADABLE, PredictionStatus.TRUNCATED)


@dataclass(frozen=True, slots=True)
class Item:
    """A question with K options, exactly one of which is true.

    An item with only one option is a statement or an open question (`is_statement`).

    Attributes
    ----------
    id
        Identifier, unique within a study; a repeated import gives the same id.
    text
        Text of the question.
    options
        The K options in source order.
    permutation
        Display order: position j shows ``options[permutation[j]]``.
    meta
        Further columns of the source, for example subject or difficulty, for stratified estimates.

    Examples
    --------
    >>> item = Item("q1", "Which vessel?", ("artery", "vein"), permutation=(1, 0))
    >>> item.shown_options
    ('vein', 'artery')
    """

    id: str
    text: str
    options: tuple[str, ...]
    permutation: tuple[int, ...]
    meta: Mapping[str, str] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        # Only two cheap type checks are made, because a study may have millions of items.
        options: object = self.options
        meta: object = self.meta
        if isinstance(options, str):
            raise WrongType("options", "a list of texts, such as ('yes', 'no')", options)
        if isinstance(meta, str):
            raise WrongType("meta", "a dictionary from column names to values", meta)

    @property
    def is_statement(self) -> bool:
        """Whether the item has only one option.

        There are two kinds of such items. An open question has the option `OPEN_ANSWER`. An open answer that
        experts judge has as its option the question whether it meets a criterion, or whether a claim in it is
        true.
        """
        return len(self.options) == 1

    @property
    def shown_options(self) -> tuple[str, ...]:
        """The options in display order."""
        return tuple([self.options[j] for j in self.permutation])

    def in_source_order(self, shown: Sequence[float]) -> tuple[float, ...]:
        """Return the options' values in source order; `shown` has them in display order."""
        by_option = dict(zip(self.permutation, shown, strict=True))
        return tuple(by_option[k] for k in sorted(by_option))


@dataclass(frozen=True, slots=True)
class Question:
    """The question "is option k the answer to this item?", asked of one expert.

    Attributes
    ----------
    id
        Permanent id of the question.
    item_id, option, expert
        The item, the option and the person asked.
    n_options
        Number of options K of the item.
    protocol
        Name of the rule that drew the option.
    propensity
        Probability with which the rule drew this option, in (0, 1]. It is fixed before any answer arrives.
    seed
        Seed of the draw.
    propensities
        The probability of every option of the item, in source order; empty if all equal `propensity`.
    place
        Position of the question in its expert's queue; smaller numbers come first. It is drawn before any
        answer. None if the order is unknown.

    Examples
    --------
    >>> question = Question("00ab", "q1", 1, "ann", 4, "partitioned", propensity=0.25, seed=7)
    >>> print(f"{question.expert} is asked about option {question.option} of {question.item_id}")
    ann is asked about option 1 of q1
    """

    id: str
    item_id: str
    option: int
    expert: str
    n_options: int
    protocol: str
    propensity: float
    seed: int
    propensities: tuple[float, ...] = ()
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An expert's answer to a question.

    `question.expert` is the person who was asked first; `expert` is the person who answered.

    Examples
    --------
    >>> question = Question("00ab", "q1", 1, "ann", 4, "partitioned", propensity=0.25, seed=7)
    >>> answer = Answer(question, "ann", Verdict.NO, source="spreadsheet", comment="not this vessel")
    >>> str(answer.verdict)
    'no'
    """

    question: Question
    expert: str
    verdict: Verdict
    source: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """Information about the true option of an item from the answer to one question.

    `propensity` is the probability with which `option` was drawn for the question; `propensities` are the
    probabilities of all options, empty if they are equal.

    Examples
    --------
    >>> refuted = Label("q1", 1, LabelKind.COMPLEMENTARY, n_options=4, propensity=0.25, expert="ann")
    >>> str(refuted.kind)
    'complementary'
    """

    item_id: str
    option: int
    kind: LabelKind
    n_options: int
    propensity: float
    expert: str = ""
    propensities: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """A model's answer to an item.

    Attributes
    ----------
    option
        Index of the chosen option in source order; None unless the status is OK.
    reason
        Why there is no option: ``"several"``, ``"refusal"``… or ``"rate limit: HTTP 429 …"``.
    sample
        Number of this answer, from 0, if the model answers each item several times.
    input_tokens, output_tokens
        Sums over all calls made for this answer.
    attempts
        Number of calls made for this answer.
    confidence
        The model's own probability of `option`, in [0, 1]; None if unknown.
    probabilities
        The model's own probabilities of all options, in source order; empty if unknown. They are stored in
        another table and not read back with the answer.
    guessed
        Number of calls with estimated tokens, because the endpoint reported none.
    step
        How the option was read: ``"form"``, ``"mark"``, ``"whole"``, ``"statement"`` or ``"log"``, see
        `oversight.harness.llm.reading.reply_reader.Step`; empty if no step was recorded.

    Examples
    --------
    >>> failed = Prediction("q1", None, PredictionStatus.FAILED, reason="rate limit: HTTP 429")
    >>> failed.kind
    'rate limit'
    """

    item_id: str
    option: int | None
    status: PredictionStatus = PredictionStatus.OK
    reason: str = ""
    sample: int = 0
    raw: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    attempts: int = 1
    confidence: float | None = None
    source: Source = Source.CALL
    guessed: int = 0
    step: str = ""
    probabilities: tuple[float, ...] = field(default=(), compare=False)

    @property
    def kind(self) -> str:
        """Part of `reason` before the colon, for counting."""
        return self.reason.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Assignment of an item to an annotator of a panel, who chooses among all options.

    Attributes
    ----------
    id
        Permanent id of the assignment.
    item_id, annotator
        The item and the person who rates it.
    propensity
        Probability with which the rule assigns the item to this annotator; fixed before any rating.
    protocol, seed
        Name of the rule and its seed.
    """

    id: str
    item_id: str
    annotator: str
    propensity: float
    protocol: str
    seed: int

    @property
    def expert(self) -> str:
        """The annotator; rosters and queues use this attribute name."""
        return self.annotator


@dataclass(frozen=True, slots=True)
class Choice:
    """An annotator's answer to an assignment; `label` is the text of an option, empty if skipped."""

    assignment: Assignment
    label: str
    source: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Rating:
    """The class that one annotator of a panel chose for one item; a missing rating has no row.

    Examples
    --------
    >>> Rating("q1", annotator="ann", label="vein").label
    'vein'
    """

    item: str
    annotator: str
    label: str


class ForeignAnswer(NamedTuple):
    """A model's answer in another program's log, before it is matched to an item of the study.

    Attributes
    ----------
    line
        Line or record number in the file, from 1.
    id, text
        The other program's id and text of the item; either may be empty.
    options
        The options in the order of their letters in the log; empty if unknown.
    answer
        Either an index into `options` (into the item's stored options if `options` is empty), or the text
        that the other program read as the answer, for example a letter. If this text names no option, the
        option is read from `raw`. None if the other program read no answer.
    raw
        Text that the model wrote.
    error
        Why there is no answer, if the call failed.
    cut
        Whether the token limit ended the answer.
    model
        Name of the model, if the log contains several.
    status
        A `PredictionStatus`, if the log is an export of a study. Then `answer` is an option's whole text; if
        there is no option, `error` is the reason.
    step
        How the option was read, in an export of a study.
    left_out
        Why this sample is not a separate answer, for example ``"perturbed copy"``; it is only counted.
    gap
        Why no item can be created from this record, and what the user can do; empty if an item can be
        created.
    shown
        Further text shown to the model that may contain the question, for example system messages.
    prompt
        The question as the model read it, if it is known and can differ from `text`. If the log does not
        order the options, letters in replies denote the options that the prompt or, without it, the text
        lists.
    is_lettered
        Whether letters in replies denote `options` in their order.
    meta
        Further short values that the log has for the item, by name, for example its subject.
    """

    line: int
    id: str
    text: str = ""
    options: tuple[str, ...] = ()
    answer: str | int | None = None
    raw: str = ""
    error: str = ""
    cut: bool = False
    sample: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    confidence: float | None = None
    model: str = ""
    status: str = ""
    step: str = ""
    left_out: str = ""
    gap: str = ""
    shown: str = ""
    prompt: str = ""
    is_lettered: bool = True
    meta: Mapping[str, str | float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check; `state` is ``"ok"``, ``"missing"`` (something optional) or ``"wrong"``."""

    what: str
    state: str
    detail: str


def find_option(options: Sequence[str], said: str) -> int | None:
    """Return the index of the option with this text, or None.

    If no option equals the text, the result is the only option that differs just in case or spaces. If there
    is none, it is the only option that is the same whole number (`find_number`).
    """
    if said in options:
        return options.index(said)
    folded = list(map(fold_text, options))
    if folded.count(fold_text(said)) == 1:
        return folded.index(fold_text(said))
    return find_number(options, said)


def find_number(options: Sequence[str], said: str) -> int | None:
    """Return the index of the option that is the same whole number as a text; None unless exactly one is.

    Programs write whole numbers with decimals if their column has an empty cell: 1 becomes 1.0.

    Examples
    --------
    >>> find_number(["1", "2"], "2.0"), find_number(["1.1", "1.10"], "1.1"), find_number(["01"], "1")
    (1, None, None)
    """
    number = trim_number(said)
    numbers = [] if number is None else list(map(trim_number, options))
    return numbers.index(number) if numbers.count(number) == 1 else None


def trim_number(text: str) -> str | None:
    """Return a whole number without decimals; None for other texts, such as ``"1.5"``, ``"01"`` or ``"a"``.

    Three zeros are not decimals, because ``"1.000"`` can mean a thousand.

    Examples
    --------
    >>> trim_number("3"), trim_number("3.0"), trim_number("3,00"), trim_number("3.000")
    ('3', '3', '3', None)
    """
    found = _WHOLE.fullmatch(text)
    return found[1] if found else None


_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:[.,]00?)?")


def fold_text(text: str) -> str:
    """Return a text in lower case and with single spaces, for comparisons."""
    return " ".join(text.casefold().split())


def join_lines(text: str) -> str:
    r"""Return a text whose lines end with a line feed only, whatever system wrote the text.

    Examples
    --------
    >>> join_lines("one\r\ntwo\rthree")
    'one\ntwo\nthree'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def content_id(text: str, options: Sequence[str]) -> str:
    """Return the id of an item whose source has no ids: 12 hexadecimal digits of a SHA-256 hash.

    Examples
    --------
    >>> content_id("Is it red?", ("yes", "no"))
    'c1494f9e3cde'
    """
    return hashlib.sha256("\x1f".join((text, *options)).encode()).hexdigest()[:12]


_DIGITS = 16


def question_ids(protocol: str, seed: int, asked: Iterable[tuple[str, int]]) -> list[str]:
    """Return the id of each question (item id, option): 16 hexadecimal digits of a SHA-256 hash.

    Anybody who knows the seed can compute these ids, so `seal_ids` is applied before they are stored.

    Examples
    --------
    >>> question_ids("partitioned", 7, [("note-1", 2)])
    ['65e05b5510ac2cf8']
    """
    start, hashed = f"{protocol}\x1f{seed}\x1f", hashlib.sha256
    return [hashed(f"{start}{item}\x1f{option}".encode()).hexdigest()[:_DIGITS] for item, option in asked]


def question_id(protocol: str, seed: int, item_id: str, option: int) -> str:
    """Return the id of one question; see `question_ids`."""
    return question_ids(protocol, seed, [(item_id, option)])[0]


def control_id(kind: str, seed: int, item_id: str, option: int, expert: str) -> str:
    """Return the id of a control question, in the format of `question_ids`."""
    told = "\x1f".join(("control", kind, str(seed), item_id, str(option), expert))
    return hashlib.sha256(told.encode()).hexdigest()[:_DIGITS]


def is_erased(name: str) -> bool:
    """Whether a name is the pseudonym of an erased expert.

    Examples
    --------
    >>> is_erased("erased-4f2a9c"), is_erased("ana")
    (True, False)
    """
    return name.startswith("erased-")


def seal_ids(key: bytes, ids: Iterable[str]) -> list[str]:
    """Hash ids with a study's secret key (HMAC-SHA256), so that nobody without the key can compute them.

    Studies started by an older version have an empty key; their ids are not changed.

    Examples
    --------
    >>> seal_ids(b"", ["65e05b5510ac2cf8"])
    ['65e05b5510ac2cf8']
    >>> seal_ids(b"another key", ["65e05b5510ac2cf8"])
    ['f14906919123829a']
    """
    if not key:
        return list(ids)
    return [hmac.digest(key, name.encode(), "sha256").hex()[:_DIGITS] for name in ids]


_Record = TypeVar("_Record")


class SharedOptions(list[_Record]):
    """A list of predictions whose items all have the same options.

    Parameters
    ----------
    records
        The predictions.
    options
        The options in their order, to which predictions refer by position; empty if they are unknown.
    """

    def __init__(self, records: Iterable[_Record], options: Sequence[str]) -> None:
        super().__init__(records)
        self.options = tuple(options)


def refuse_other_options(lists: Iterable[object]) -> None:
    """Raise an error if lists of predictions or labels do not have the same options in the same order.

    Lists whose options are unknown are ignored.

    Raises
    ------
    EstimateError
        If the options or their order differ; the message names them.
    """
    known = {options for each in lists if (options := getattr(each, "options", ()))}
    if len(known) > 1:
        told = " and ".join(", ".join(options) for options in sorted(known))
        raise EstimateError(
            f"predictions and labels need the same options in the same order, but have {told}"
        )
