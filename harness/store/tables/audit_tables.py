"""Rows and tables of the audit trail and of the people who answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Any

from oversight.harness.store.tables.table_maker import make_table


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
