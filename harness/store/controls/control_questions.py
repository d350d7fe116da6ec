"""SQL of control questions and the answers to them.

Code that collects answers uses replies to all questions. Code that estimates uses only replies to the
study's own questions.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

import sqlalchemy as sa

from oversight.harness.store.database import Database, Repository, split_into_batches
from oversight.harness.store.replies import SORTED, ReplyFields, ReplyRepository, Response
from oversight.harness.store.serialization import write_tuple
from oversight.harness.store.tables.study_tables import (
    CONTROL,
    GOLD,
    QUESTION,
    QUESTION_KEY,
    AuditEvent,
    ControlKind,
    ControlQuestion,
)
from oversight.harness.types import Item

_BYTES = 32
_OF_GOLD = ("id", "text", "options", "permutation", "truth")


@dataclass(frozen=True, slots=True)
class GoldItem:
    """An item with the index of its true option, in source order."""

    item: Item
    truth: int


_OF_CONTROL = tuple(field.name for field in fields(ControlQuestion))
_fields_of_control = attrgetter(*_OF_CONTROL)


class ControlRepository(Repository):
    """Reads and writes gold items, control questions and their answers."""

    @property
    def replies(self) -> ReplyRepository:
        """Repository of the answers to control questions."""
        return ReplyRepository(self._database, "control_answer")

    def add_gold_items(self, items: Iterable[GoldItem]) -> int:
        """Store gold items that are not stored yet. Returns how many were new."""
        rows = (
            (g.item.id, g.item.text, write_tuple(g.item.options), write_tuple(g.item.permutation), g.truth)
            for g in items
        )
        return self._database.add_rows(GOLD, _OF_GOLD, rows)

    def add_controls(self, controls: Iterable[ControlQuestion]) -> int:
        """Store control questions that are not stored yet. Returns how many were new."""
        rows = ((name, kind.value, *others) for name, kind, *others in map(_fields_of_control, controls))
        return self._database.add_rows(CONTROL, _OF_CONTROL, rows)

    def has_controls(self) -> bool:
        """Whether any control question was drawn."""
        return self._database.has_rows(CONTROL)

    def read_controls(self) -> list[ControlQuestion]:
        """Return all control questions, sorted by id, so that the order does not depend on their kind."""
        query = sa.select(*(CONTROL.c[name] for name in _OF_CONTROL)).order_by(CONTROL.c.id)
        with self._database.reading():
            rows = self._database.read_tuples(query)
            return [ControlQuestion(name, ControlKind(kind), *others) for name, kind, *others in rows]

    def read_gold_items(self, *conditions: sa.ColumnElement[bool]) -> dict[str, GoldItem]:
        """Return the gold items that meet all conditions, by id."""
        query = sa.select(*(GOLD.c[name] for name in _OF_GOLD)).where(*conditions)
        return {item[0]: GoldItem(Item(*item), truth) for *item, truth in self._database.read_rows(query)}

    def find_gold(self, ids: Collection[str]) -> dict[str, Item]:
        """Return the gold items with these ids, without their true options; unknown ids are left out."""
        found = self.read_gold_items(self._database.among(GOLD.c.id, ids))
        return {name: gold.item for name, gold in found.items()}

    def count_asked(self) -> dict[str, int]:
        """Return the number of control questions by expert."""
        expert = CONTROL.c.expert
        query = sa.select(expert, sa.func.count()).group_by(expert).order_by(expert)
        return dict(self._database.read_tuples(query))

    def read_experts(self) -> dict[str, str]:
        """Return the expert of each control question, by question id."""
        return dict(self._database.read_tuples(sa.select(CONTROL.c.id, CONTROL.c.expert)))

    def find_experts(self, ids: Collection[str]) -> dict[str, str]:
        """Return the expert of each given control question, by question id; unknown ids are left out."""
        query = sa.select(CONTROL.c.id, CONTROL.c.expert)
        return dict(self._database.read_tuples(query.where(self._database.among(CONTROL.c.id, ids))))

    def find_items(self, ids: Collection[str]) -> dict[str, str]:
        """Return the id of the study's item that each given control question repeats, by question id.

        Gold questions and unknown ids are omitted.
        """
        query = sa.select(CONTROL.c.id, CONTROL.c.item_id).where(
            self._database.among(CONTROL.c.id, ids), CONTROL.c.original != ""
        )
        return dict(self._database.read_tuples(query))

    def pick_controls(self, ids: Sequence[str]) -> set[str]:
        """Return the given ids that belong to control questions."""
        return set(self.find_experts(ids)) if ids else set()

    def read_key(self) -> bytes:
        """Return the secret key of question ids; empty before the first draw or for an older study."""
        found = self._database.read_tuples(sa.select(QUESTION_KEY.c.secret))
        return bytes(found[0][0]) if found else b""

    def ensure_key(self) -> bytes:
        """Return the secret key of question ids, creating it if the study has no questions yet.

        If several processes create a key at once, all use the key that was stored first. If an older version
        of oversight drew questions, no key is created and the result is empty, because the ids of these
        questions must not change.
        """
        if not self._is_settled():
            with self._database.together(exclusive=True):
                if not self._is_settled():
                    key = {"id": 0, "secret": secrets.token_bytes(_BYTES)}
                    self._database.write_rows(sa.insert(QUESTION_KEY), [key])
        return self.read_key()

    def _is_settled(self) -> bool:
        """Whether a key or questions exist already, so that creating a key is not allowed."""
        return any(map(self._database.has_rows, (QUESTION_KEY, QUESTION, CONTROL)))


class AllReplies(ReplyRepository):
    """Experts' replies from two tables: one for the study's questions, one for control questions.

    Parameters
    ----------
    database
        The study's database.
    controls
        The study's control questions.
    """

    def __init__(self, database: Database, controls: ControlRepository) -> None:
        super().__init__(database, "answer")
        self._controls = controls

    def read_replies(self) -> dict[str, Response]:
        """Return all replies by question id; replies to control questions come last."""
        return super().read_replies() | self._controls.replies.read_replies()

    def find_replies(self, ids: Iterable[str]) -> dict[str, Response]:
        """Return the replies to the given questions, by question id."""
        names = list(ids)
        return super().find_replies(names) | self._controls.replies.find_replies(names)

    def find_values(self, names: Sequence[str]) -> dict[str, str]:
        """Return the value of each given question's reply, by question id."""
        return super().find_values(names) | self._controls.replies.find_values(names)

    def count_replies(self) -> dict[tuple[str, str], int]:
        """Count replies by person and answer."""
        return dict(Counter(super().count_replies()) + Counter(self._controls.replies.count_replies()))

    def count_arrivals(self, most: int) -> list[dict[str, int]]:
        """Divide replies, in order of arrival, into at most `most` portions, and count each person's replies.

        Returns one dictionary per portion: person → number of replies. Replies to control questions are
        spread evenly over the portions, because it is not stored when they arrived among the other replies.
        """
        found, more = super().count_arrivals(most), self._controls.replies.count_arrivals(most)
        if not found or not more:
            return found or more
        for place, portion in enumerate(more):
            into = found[place * len(found) // len(more)]
            for name, n in portion.items():
                into[name] = into.get(name, 0) + n
        return found

    def add_replies(self, replies: Iterable[ReplyFields]) -> int:
        """Store replies, all or none. Returns the number of replies that were not stored before."""
        if not self._controls.has_controls():
            return super().add_replies(replies)
        aside = list[ReplyFields]()
        with self._database.together(exclusive=True):
            new = super().add_replies(self._leave_controls(replies, aside))
            return new + self._controls.replies.add_replies(aside)

    def replace_replies(
        self, connection: sa.Connection, ids: Iterable[str], source: str, replies: Sequence[Response]
    ) -> list[AuditEvent]:
        """Replace the replies to these questions that arrived through the channel `source`.

        Returns the audit events to append.
        """
        names, events = list(ids), list[AuditEvent]()
        apart = self._controls.pick_controls([*names, *(reply.id for reply in replies)])
        for is_control in (False, True):
            asked = [name for name in names if (name in apart) is is_control]
            said = [reply for reply in replies if (reply.id in apart) is is_control]
            if asked or said:
                store = self._controls.replies.replace_replies if is_control else super().replace_replies
                events += store(connection, asked, source, said)
        return events

    def _leave_controls(
        self, replies: Iterable[ReplyFields], aside: list[ReplyFields]
    ) -> Iterator[ReplyFields]:
        """Yield the replies to the study's questions, and append all other replies to the list `aside`."""
        for portion in split_into_batches(replies, SORTED):
            apart = self._controls.pick_controls([reply[0] for reply in portion])
            for reply in portion:
                if reply[0] in apart:
                    aside.append(reply)
                else:
                    yield reply
