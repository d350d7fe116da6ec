"""Rows and tables of a study: content, collection, audit trail, model runs and searches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.platform import is_gone, machine_id
from oversight.harness.store.tables.table_maker import make_table
from oversight.harness.types import Assignment, Item, Prediction, Question


class ControlKind(StrEnum):
    """Kind of a control question."""

    GOLD = "gold"
    """About an item whose true option is known; measures how often the expert errs."""
    REPEAT = "repeat"
    """A question of the study that the same expert is asked again; measures the expert's consistency."""
    OVERLAP = "overlap"
    """A question of the study that a second expert is asked; measures how often two experts agree."""


@dataclass(frozen=True, slots=True)
class ControlQuestion:
    """A control question in an expert's queue.

    Attributes
    ----------
    id, option, expert, n_options, seed
        As in `Question`, and in the same format, so that experts cannot recognize control questions.
    item_id
        Id of the gold item, or of the study's item that is asked about again.
    original
        Id of the study's question that is repeated; empty for gold.
    place
        As in `Question`.
    """

    id: str
    kind: ControlKind
    item_id: str
    option: int
    expert: str
    n_options: int
    seed: int
    original: str = ""
    place: int | None = None

    @property
    def question(self) -> Question:
        """The question as the expert sees it."""
        return Question(
            id=self.id,
            item_id=self.item_id,
            option=self.option,
            expert=self.expert,
            n_options=self.n_options,
            protocol=self.kind.value,
            propensity=1.0,
            seed=self.seed,
            place=self.place,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLook:
    """Interim analysis number `look` of `looks`, with the numbers of answered and of drawn questions."""

    look: int
    looks: int
    answered: int
    drawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDraw:
    """One draw of items from the undrawn items of the pool.

    Unless items have individual probabilities, each undrawn item is drawn with probability
    `items` / `remaining`.

    Attributes
    ----------
    batch
        Number of the draw, from 1.
    wanted
        Requested number of questions.
    items, remaining
        Number of items in this draw, and number of undrawn items before it.
    pool
        Number of items in the pool.
    seed
        Seed of the draw.
    strata
        Description of how the strata were formed.
    created
        Time of the draw in ISO 8601.
    """

    batch: int
    wanted: int
    items: int
    remaining: int
    pool: int
    seed: int
    strata: str
    created: str


@dataclass(frozen=True, slots=True)
class DatabaseMark:
    """Reason why a database must not collect answers: it is a copy, or the study was moved elsewhere.

    Attributes
    ----------
    copied_at
        Time of the copy in ISO 8601, UTC; empty if the database is not a copy.
    source
        Address of the original database, without a password; empty if the database is not a copy.
    moved_to
        Address of the study's new database, without a password; empty if the study was not moved.
    """

    copied_at: str
    source: str
    moved_to: str = ""

    def __str__(self) -> str:
        if self.moved_to:
            return f"the old database of a study that was moved to {self.moved_to}"
        return f"a copy of {self.source}, made at {self.copied_at}"

    def refuse(self, shown: str) -> StoreError:
        """Return the error for a write to a database with this mark; `shown` is the database's address."""
        way = (
            "enter the new database as store in study.toml, or complete the move with: oversight store move"
            if self.moved_to
            else "if the original database is lost or no longer used, make this copy the study's database "
            "with: oversight store adopt"
        )
        return StoreError(f"{shown}: this database is {self}; it is read-only and collects no answers; {way}")


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A model's answer to an item, as it was when questions were drawn."""

    item_id: str
    model: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit that experts judge: a criterion of an item, or a part of an answer.

    Attributes
    ----------
    answer
        Id of the answer that the unit is part of; empty for a criterion.
    place
        Position of the unit within the item's rubric or the answer, from 0.
    origin
        Source of the unit: ``"rubric"``, ``"answer"``, ``"sentences"``, ``"claims"`` or ``"hand"``.
    """

    id: str
    item_id: str
    answer: str
    place: int
    text: str
    points: float
    field: str | None
    origin: str


@dataclass(frozen=True, slots=True)
class DrawnExpert:
    """An expert drawn for a question about a unit of an answer; `attempt` gives the order of experts.

    Attributes
    ----------
    row, number
        Row of the (unit, answer) pair in the sampling frame, and number of the question. One question can
        belong to several rows.
    attempt
        1 for the expert who is asked first.
    answer, unit_id
        Ids of the answer and of the unit that the question shows.
    place
        In designs that ask about an answer's units one after another, until an expert says no: the unit's
        place in this order, from 1. In all other designs: 0.
    propensity
        Probability with which the question was drawn.
    expert, field
        Name of the expert, and the field of expertise in the roster for which the expert was drawn.
    question_id
        Id of the question; empty until the question is asked.
    """

    row: int
    attempt: int
    number: int
    answer: str
    unit_id: str
    place: int
    propensity: float
    expert: str
    field: str
    question_id: str = ""


ITEM = make_table("item", Item, "id", index="position", position="int")
# A source of items: its number of items, and a hash of all data that define them.
ITEM_SOURCE = make_table("item_source", "digest str, items int", "digest")
_OF_ITEM = {"item_id": "item.id"}
QUESTION = make_table(
    "question",
    Question,
    "id",
    sa.UniqueConstraint("item_id", "option", "expert", name="uq_question_asked_once"),
    index="item_id expert",
    refers=_OF_ITEM,
    seed="big",
    place="big | None",
)
ASSIGNMENT = make_table(
    "assignment",
    Assignment,
    "id",
    sa.UniqueConstraint("item_id", "annotator", name="uq_assignment_given_once"),
    index="item_id annotator",
    refers=_OF_ITEM,
    seed="big",
)
_GOLD = "id str, text str, options tuple, permutation tuple, truth int"
GOLD = make_table("gold_item", _GOLD, "id")
CONTROL = make_table(
    "control_question", ControlQuestion, "id", index="expert", seed="big", place="big | None"
)
# Replies, at most one per question or assignment; `position` is the place in the order of arrival.
_REPLY = "{} str, {} str, position int, expert str, source str, comment str"
_SAID, _RATED = _REPLY.format("question_id", "verdict"), _REPLY.format("assignment_id", "label")
ANSWER = make_table("answer", _SAID, "question_id", index="position", refers={"question_id": "question.id"})
CONTROL_ANSWER = make_table(
    "control_answer", _SAID, "question_id", index="position", refers={"question_id": "control_question.id"}
)
# `label` is empty if the annotator skipped the assignment.
RATING = make_table(
    "rating", _RATED, "assignment_id", index="position", refers={"assignment_id": "assignment.id"}
)
# The study's secret key (one row), from which question ids are derived; stored nowhere else. Without a row,
# or with an empty secret, question ids depend only on the study's seed.
QUESTION_KEY = make_table("question_key", "id int, secret bytes", "id")
LOOK = make_table("look", PlannedLook, "look", created="str")
ITEM_DRAW = make_table("item_draw", ItemDraw, "batch", seed="big")
# An item of the pool. `batch` is the number of its draw, or 0. `chance` is the probability with which it was
# drawn; None if its draw gave all undrawn items the same probability.
_POOLED = "item_id str, stratum int, batch int, chance float | None"
POOL_ITEM = make_table("pool_item", _POOLED, "item_id", index="batch", refers=_OF_ITEM)
# One row: the database's random id, and the reason why it must not collect answers. If it may collect them,
# all texts of the reason are empty.
MARK = make_table("database_mark", DatabaseMark, "id", id="int", database="str")
OPEN_ANSWER = make_table("open_answer", StoredAnswer, "item_id model", unique="id", refers=_OF_ITEM)
UNIT = make_table("unit", StoredUnit, "id", index="item_id answer", refers=_OF_ITEM)
UNIT_DRAW = make_table(
    "unit_draw", DrawnExpert, "row attempt", index="number question_id", refers={"unit_id": "unit.id"}
)


@dataclass(frozen=True, slots=True)
class Queue:
    """One expert's project on a server; project and user id are None until the server returned them."""

    expert: str
    marker: str
    server: str = ""
    project_id: int | None = None
    email: str = ""
    user_id: int | None = None
    cursor: str = ""
    closed: bool = False


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """A question or assignment at its place in an expert's queue.

    `sending` is True from just before the task is sent until its id on the server is stored.
    """

    question_id: str
    expert: str
    place: int
    digest: str
    task_id: int | None = None
    sending: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of an annotation; `version` is a hash of that state."""

    expert: str
    annotation_id: int
    version: str
    task_id: int
    question_id: str | None
    deleted: bool
    author: int | None
    editor: int | None
    cancelled: bool
    result: list[Any]
    updated_at: str
    seconds: float | None

    @property
    def is_whole(self) -> bool:
        """Whether the annotation's stored content is unchanged, so that its hash still equals `version`."""
        told = hash_annotation(self.author, self.editor, self.cancelled, self.result, self.updated_at)
        return self.version.partition("-")[0] == told


def hash_annotation(
    author: int | None, editor: int | None, cancelled: object, result: Sequence[Any], updated_at: str
) -> str:
    """Hash the content of an annotation."""
    told = json.dumps([author, editor, bool(cancelled), list(result), updated_at])
    return sha256(told.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An annotation that does not count, with the reason.

    `over` is True if the annotation's question was sent to the server again after the annotation came.
    """

    expert: str
    annotation_id: int
    task_id: int
    question_id: str | None
    reason: str
    detail: str = ""
    over: bool = False


QUEUE = make_table("label_queue", Queue, "expert", unique="marker")
_OF_QUEUE = {"expert": "label_queue.expert"}
TASK = make_table("label_task", QueuedTask, "question_id", index="expert", refers=_OF_QUEUE)
REVISION = make_table(
    "label_revision",
    Revision,
    "expert annotation_id version",
    index="position task_id",
    refers=_OF_QUEUE,
    position="int",
)
QUARANTINE = make_table(
    "label_quarantine",
    Quarantined,
    "expert annotation_id",
    refers=_OF_QUEUE,
    defaults={"over": sa.false()},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """An event of the audit trail.

    Attributes
    ----------
    kind
        Kind of the event. About answers: ``answer``, ``withdrawn``, ``batch`` (answers that arrived together,
        see `BatchDigest`), ``refused`` or ``revision`` (a state of an annotation on a server). About
        questions and people: ``design``, ``handover``, ``absent``, ``returned``, ``requeued``, ``removed``
        (a foreign task was removed from a server) or ``look`` (an interim analysis). About corrections:
        ``item_removed``, ``item_corrected`` or ``redacted`` (contents of earlier events were erased).
    way
        Channel through which the event came: ``command``, or a source of replies, for example ``page``,
        ``label_studio`` or ``offline``.
    person
        The person who acted; empty if unknown.
    asked_id
        Id of the question or assignment; empty if none.
    value
        A verdict or label.
    seconds
        Seconds for which the question was visible; None if unknown.
    key
        Key of the event: a second event with the same key is not stored. None if such events can repeat.
    detail
        Further data that can be written as JSON.
    """

    kind: str
    way: str
    person: str = ""
    asked_id: str = ""
    value: str = ""
    comment: str | None = ""
    seconds: float | None = None
    key: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord(AuditEvent):
    """A stored event with its position, its link, and its time in UTC by the clock of the writing machine.

    `comment` is None if the comment was erased; `comment_digest` is empty if there was no comment.
    """

    position: int
    at: str
    salt: str
    comment_digest: str
    link: str

    def to_json(self) -> dict[str, Any]:
        """Return all fields, in the order in which a bundle contains them."""
        return {name: getattr(self, name) for name in _WRITTEN}

    def find_link(self, before: str) -> str:
        """Compute the event's link from its fields and from the previous event's link, `before`."""
        hashed = (getattr(self, name) for name in _HASHED)
        told = json.dumps([before, *hashed], sort_keys=True, separators=(",", ":"))
        return sha256(told.encode()).hexdigest()

    @property
    def is_redacted(self) -> bool:
        """Whether content of the event was erased, so that its link can no longer be recomputed."""
        detail: object = self.detail  # an altered row may contain any type
        return isinstance(detail, dict) and detail.get("redacted") is True

    def find_seal(self) -> str:
        """Return a seal of the event: a hash of its link and its current content.

        A ``redacted`` event contains the seals of the events whose content was erased.
        """
        return self.find_link(self.link)

    @property
    def holds_comment(self) -> bool:
        """Whether the comment was erased or matches the salted hash `comment_digest`."""
        return self.comment is None or hash_comment(self.salt, self.comment) == self.comment_digest


_WRITTEN = (
    "position", "at", "kind", "way", "person", "asked_id", "value", "comment", "salt", "comment_digest",
    "seconds", "key", "detail", "link",
)  # fmt: skip


_HASHED = tuple(name for name in _WRITTEN if name not in ("comment", "salt", "link"))


def hash_comment(salt: str, comment: str) -> str:
    """Hash a comment with its salt; an empty comment has an empty hash."""
    return sha256(f"{salt}:{comment}".encode()).hexdigest() if comment else ""


@dataclass(frozen=True, slots=True)
class Absence:
    """An expert's absence, from the day `since` through the day `until` (ISO 8601 dates).

    `until` is empty if the absence is permanent.
    """

    expert: str
    since: str
    until: str = ""
    reason: str = ""

    @property
    def is_for_good(self) -> bool:
        """Whether the absence is permanent."""
        return not self.until

    def holds(self, day: date) -> bool:
        """Whether the absence lasts until the given day or longer; its first day is not checked."""
        return not self.until or day.isoformat() <= self.until


@dataclass(frozen=True, slots=True)
class Handover:
    """A question reassigned from the expert `giver` to the expert `taker`.

    `place` was the question's place in the first expert's queue; None if it was in no queue.
    """

    asked_id: str
    giver: str
    taker: str
    place: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLink:
    """An expert's link to the answer page, which asks for a personal code; only the code's hash is stored.

    Attributes
    ----------
    id
        Public identifier of the link, a part of the page's address.
    expert
        The expert who uses the link.
    token_digest, session_digest
        SHA-256, in hexadecimal, of the personal code and of the cookie of a browser that signed in with it.
    created, expires, revoked, seen
        Times in ISO 8601 and UTC; `seen` is the last use. `revoked` is empty for a link that was not
        revoked, and `seen` for an unused link.
    """

    id: str
    expert: str
    token_digest: str
    session_digest: str
    created: str
    expires: str
    revoked: str = ""
    seen: str = ""

    def opens(self, now: datetime) -> bool:
        """Whether the link opens the page at the given time."""
        return not self.revoked and write_moment(now) < self.expires


def write_moment(moment: datetime) -> str:
    """Convert a time to UTC and format it for storage, so that sorting the texts sorts the times."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


EVENT = make_table("audit_event", AuditRecord, "position", index="asked_id", unique="key")
ABSENCE = make_table("absence", Absence, "expert")
HANDOVER = make_table("handover", Handover, "asked_id", index="giver taker", created="str")
LINK = make_table("answer_link", AnswerLink, "id", index="expert")


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A model call and its result.

    `key` is a hash of the model, the request, and the name of the draw. A draw's name is, for example,
    ``item/replicate/occurrence``. A failed call has an `error`, and a later attempt replaces its row. `usd`
    is None if no price is known.
    """

    key: str
    request: str
    reply: str
    finish: str
    input_tokens: int
    output_tokens: int
    usd: float | None
    ms: float
    error: str
    created: str


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch submitted to a Batch API. `remote_id` is None if the endpoint has not returned an id yet.

    `requests` are the (item id, sample) pairs of the batch.
    """

    marker: str
    run_id: str
    remote_id: str | None
    state: str
    requests: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ReservedAnswer:
    """Reserved usage of an unfinished answer: its usage so far, and the maximum usage of its next call."""

    run_id: str
    item_id: str
    sample: int
    requests: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLock:
    """The process that works on a run; `since` is in seconds by the database's clock.

    The run itself need not be stored yet. `owner` is a random id of the holder. With `pid` and `started`,
    a process on the same `machine` can check whether the holder still runs.
    """

    run_id: str
    owner: str
    host: str
    machine: str
    pid: int
    started: str
    since: float

    def __str__(self) -> str:
        """Return a sentence with host, process and time, for messages."""
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {self.pid} on {self.host} has been working on this run since {since}"

    @property
    def is_elsewhere(self) -> bool:
        """Whether the lock's process is on another machine."""
        return self.machine != machine_id()

    def is_held(self, *, take_over: bool = False) -> bool:
        """Whether the lock's process is running or cannot be checked.

        With `take_over`, a process on another machine counts as ended.
        """
        return not is_gone(self.machine, self.pid, self.started) and not (take_over and self.is_elsewhere)


_OF_RUN, _OF_SEARCH = {"run_id": "run.id"}, {"search_id": "search.id"}
# `spec` contains all settings that determine a search or a run. The id of a run is the hash of its `spec`,
# and `served_as` is the model's name in the endpoint's first reply.
_SPECIFIED = "id str, created str, spec Mapping"
SEARCH = make_table("search", _SPECIFIED, "id")
RUN = make_table("run", f"{_SPECIFIED}, name str, served_as str | None", "id", index="name")
# The split to which a search assigned an item; `position` is the item's position in the split.
_SPLIT = "search_id str, position int, item_id str, split str"
SEARCH_ITEM = make_table("search_item", _SPLIT, "search_id item_id", refers=_OF_SEARCH | _OF_ITEM)
# A program in the archive of a search; `position` is its place in the order of arrival.
_ARCHIVED = (
    "search_id str, position int, id str, slot int, op str, name str, source str, thought str, note str, "
    "parents tuple"
)
CANDIDATE = make_table("candidate", _ARCHIVED, "search_id id", refers=_OF_SEARCH, defaults={"parents": "[]"})
# A candidate's answer to an item in one replicate.
CANDIDATE_ANSWER = make_table(
    "candidate_answer",
    Prediction,
    "search_id candidate_id replicate item_id",
    sa.ForeignKeyConstraint(["search_id", "candidate_id"], ["candidate.search_id", "candidate.id"]),
    without="sample confidence source guessed step probabilities",
    refers=_OF_ITEM,
    search_id="str",
    candidate_id="str",
    replicate="int",
)
# A decision of a search. Later decisions with the same key are ignored.
_DECISION = "search_id str, position int, key str, data Mapping"
SEARCH_EVENT = make_table("search_event", _DECISION, "search_id key", refers=_OF_SEARCH)
RUN_LOCK = make_table("run_lock", RunLock, "run_id")
# A run's answer to an item; `guessed` is the number of calls whose endpoint reported no tokens.
PREDICTION = make_table(
    "prediction",
    Prediction,
    "run_id item_id sample",
    without="probabilities",
    refers=_OF_RUN | _OF_ITEM,
    defaults={"source": "call", "step": "", "guessed": "0"},
    run_id="str",
)
# The probabilities that a judge gave to the options of an item, in option order.
_JUDGED = "run_id str, item_id str, probabilities tuple"
VECTOR = make_table("judge_probability", _JUDGED, "run_id item_id", refers=_OF_RUN | _OF_ITEM)
# A run's usage that belongs to no stored prediction. `kind` is "reserved" for one unfinished answer (the row
# is removed when the answer is stored), "under way" for all unfinished calls of a workflow run, "paid" for
# its finished calls, and "charged" for usage that never led to an answer.
LEDGER = make_table(
    "ledger",
    ReservedAnswer,
    "run_id kind item_id sample",
    refers=_OF_RUN,
    run_id="str",
    kind="str",
    answers="int",
    input_tokens="big",
    output_tokens="big",
)
# Whether a model at an endpoint offers a feature, as found by one test request.
_FEATURE = "endpoint str, model str, feature str, offered bool, detail str"
PROBE = make_table("probe", _FEATURE, "endpoint model feature")
BATCH = make_table("batch", Batch, "marker", index="run_id", refers=_OF_RUN)
CALL = make_table("call", StoredCall, "key")
# Number of changes to a run's predictions, counted by database triggers.
RUN_VERSION = make_table("run_version", "run_id str, version big", "run_id")
# A run's answers as arrays, cached for one version of its predictions. `options` contains one 16-bit integer
# per item, see `oversight.harness.columns.PredictionColumns`. `confidences` contains one 64-bit float per
# item, or is empty. Both are little-endian.
_CACHED = "run_id str, version big, options bytes, confidences bytes, counts Mapping"
RUN_COLUMNS = make_table("run_columns", _CACHED, "run_id")
