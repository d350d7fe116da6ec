"""The store of a study: its database with one repository per concept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import UTC, datetime

import sqlalchemy as sa

from oversight.harness.store.audit.audit_trail import AuditRepository
from oversight.harness.store.audit.design_rows import DesignRepository
from oversight.harness.store.audit.people import PeopleRepository
from oversight.harness.store.calls.call_repository import CallRepository
from oversight.harness.store.calls.run_locks import LockRepository
from oversight.harness.store.columns.pool_columns import PoolRepository
from oversight.harness.store.columns.run_columns import RunColumnsRepository
from oversight.harness.store.columns.study_columns import ColumnRepository
from oversight.harness.store.connections import read_mark
from oversight.harness.store.controls.control_questions import AllReplies, ControlRepository
from oversight.harness.store.database import PORTION, Database, Repository
from oversight.harness.store.engines.addresses import has_database
from oversight.harness.store.full_text.full_text_index import FullTextRepository
from oversight.harness.store.labelling import LabellingRepository
from oversight.harness.store.open_answers import OpenAnswerRepository
from oversight.harness.store.replies import ReplyRepository
from oversight.harness.store.runs import RunRepository
from oversight.harness.store.searches import SearchRepository
from oversight.harness.store.study_content import ContentRepository, PanelRepository
from oversight.harness.store.tables.insertion import row_of
from oversight.harness.store.tables.study_tables import (
    ANSWER,
    ASSIGNMENT,
    CONTROL,
    GOLD,
    ITEM,
    MARK,
    PREDICTION,
    QUESTION,
    RUN,
    DatabaseMark,
    write_moment,
)
from oversight.harness.store.withdrawal import WithdrawalRepository
from oversight.harness.types import Item


class MarkRepository(Repository):
    """Reads, sets and removes a database's mark.

    A marked database is a copy, or the old database of a moved study. It collects no answers.
    """

    def read_mark(self) -> DatabaseMark | None:
        """Return the mark of this database, or None if the database has no mark and may collect answers."""
        with self._database.transaction() as connection:
            return read_mark(connection)

    def mark_copy(self, source: str) -> None:
        """Mark this database as a copy of `source`, made now."""
        self._write(DatabaseMark(write_moment(datetime.now(UTC)), source))

    def mark_moved(self, target: str) -> None:
        """Mark this database as the old database of a study that was moved to `target`."""
        self._write(DatabaseMark("", "", target))

    def adopt(self) -> DatabaseMark | None:
        """Remove the mark, so that this database collects answers. Returns the removed mark or None.

        The caller must have opened this database with ``write_marked``. Any other process that has it open
        must open it again before writing.
        """
        with self._database.together(exclusive=True):
            found = self.read_mark()
            self._write(DatabaseMark("", ""))
        return found

    def refuse_mark(self) -> None:
        """Raise `StoreError` if this database is marked, so that it must not collect answers."""
        if (mark := self.read_mark()) is not None:
            raise mark.refuse(self._database.shown)

    def _write(self, mark: DatabaseMark) -> None:
        with self._database.transaction() as connection:
            connection.execute(sa.update(MARK).values(row_of(mark)))


class Store(Database):
    """An open database with all repositories of a study; see `Connections` for the parameters."""

    def __init__(self, url: str, *, write_marked: bool = False) -> None:
        super().__init__(url, write_marked=write_marked)
        self.marks = MarkRepository(self)
        self.content = ContentRepository(self)
        self.controls = ControlRepository(self)
        self.audit = AuditRepository(self)
        self.design = DesignRepository(self)
        self.people = PeopleRepository(self)
        self.columns = ColumnRepository(self)
        self.pool = PoolRepository(self)
        self.runs = RunRepository(self)
        self.run_columns = RunColumnsRepository(self)
        self.locks = LockRepository(self)
        self.calls = CallRepository(self)
        self.panel = PanelRepository(self)
        self.open_answers = OpenAnswerRepository(self)
        self.labelling = LabellingRepository(self)
        self.searches = SearchRepository(self)
        self.words = FullTextRepository(self)
        self.withdrawals = WithdrawalRepository(self)

    def replies(self, *, panel: bool) -> ReplyRepository:
        """Return the repository of the panel's ratings if `panel`, otherwise that of the experts' answers."""
        return self.panel.replies if panel else AllReplies(self, self.controls)

    def count_asked(self, *, panel: bool) -> dict[str, int]:
        """Return each expert's number of questions, or each annotator's number of assignments.

        People are sorted by the position of their first item. The number of questions includes control
        questions, and a reassigned question counts for the new expert.
        """
        table: sa.Table = ASSIGNMENT if panel else QUESTION
        person = table.c.annotator if panel else table.c.expert
        position = ITEM.c.position
        order = (position, *(() if panel else (table.c.option,)), person)
        count = sa.select(person, sa.func.count()).group_by(person)
        in_order = sa.select(person).join(ITEM).order_by(*order)
        found, start, end = dict[str, int](), 0, PORTION
        with self.transaction() as connection:
            counts: dict[str, int] = dict(connection.execute(count).all())
            last = connection.execute(sa.select(sa.func.max(position))).scalar() if counts else None
            # Read items in portions until every expert is found, because sorting all questions is slow.
            while last is not None and start <= last and len(found) < len(counts):
                rows = connection.execute(in_order.where(position >= start, position < end))
                found |= {name: counts[name] for name in dict.fromkeys(rows.scalars()) if name not in found}
                start, end = end, 4 * end
        if panel:
            return found
        every = Counter(found) + Counter(self.controls.count_asked())
        for handed in self.people.read_handovers().values():
            every[handed.giver] -= 1
            every[handed.taker] += 1
        return {name: n for name, n in every.items() if n}

    def find_asked_items(self, ids: Collection[str], *, panel: bool) -> dict[str, str]:
        """Return the item id of each given question, by question id; unknown ids are left out.

        If `panel`, the ids are assignment ids.
        """
        t = (ASSIGNMENT if panel else QUESTION).c
        found = dict(self.read_tuples(sa.select(t.id, t.item_id).where(self.among(t.id, ids))))
        return found if panel else found | self.controls.find_items(ids)

    def measure_asked_texts(self, *, panel: bool) -> dict[str, int]:
        """Return the number of characters of each question's item text, by question id.

        If `panel`, the keys are assignment ids instead.
        """
        lengths: dict[str, int] = {}
        of_experts = [(QUESTION, ITEM), (CONTROL, ITEM), (CONTROL, GOLD)]
        for asked, about in [(ASSIGNMENT, ITEM)] if panel else of_experts:
            length = sa.func.length(about.c.text)
            query = sa.select(asked.c.id, length).join_from(asked, about, asked.c.item_id == about.c.id)
            lengths.update(self.read_tuples(query))
        return lengths

    def read_shown_items(self) -> dict[str, Item]:
        """Return the study's items and the gold items, by id."""
        gold = {name: found.item for name, found in self.controls.read_gold_items().items()}
        return gold | {item.id: item for item in self.content.read_items()}

    def count_rows(self, *names: str) -> dict[str, int]:
        """Return the number of rows of each main table, or of the named tables.

        Counting many millions of predictions takes seconds.
        """
        main = (ITEM, QUESTION, ANSWER, RUN, PREDICTION)
        tables = [table for table in main if not names or table.name in names]
        return {table.name: self.count(table) for table in tables}


def refuse_mark(url: str) -> None:
    """Raise `StoreError` if the database exists and must not collect answers (`DatabaseMark`)."""
    if has_database(url):
        with Store(url) as store:
            store.marks.refuse_mark()
