"""The only SQL. Every write may be repeated: what is there already stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Self

import sqlalchemy as sa
from sqlmodel import SQLModel, func, select

from harness.config import RunSpec
from harness.errors import DataError, StoreError
from harness.store.responses import Response, Responses
from harness.store.runs import PORTION, count_samples, item_of, split_into_batches, store_predictions
from harness.store.schema import open_engine
from harness.store.tables import AnswerRow, ItemRow, PredictionRow, QuestionRow, RunRow, table_of
from harness.types import Answer, Item, Prediction, Question, Verdict
from harness.votes import take_votes


class Repository:
    """A study's database.

    Parameters
    ----------
    url
        SQLAlchemy URL; see `harness.store.schema.open_engine`.
    """

    def __init__(self, url: str) -> None:
        self._engine = open_engine(url)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- items -------------------------------------------------------------------------------

    def add_items(self, items: Iterable[Item]) -> list[str]:
        """Store items that are not there yet, all or none; return the ids of all of them.

        Items are drawn and written in portions, so that a file of any length takes little memory.

        Raises
        ------
        DataError
            If an item is there with another text or other options: questions about it were asked
            as it was, so it may not change. If an id is given twice.
        """
        table, ids = table_of(ItemRow), list[str]()
        with self.transaction() as connection:
            count = connection.execute(select(func.count()).select_from(table)).scalar_one()
            for portion in split_into_batches(items, PORTION):
                names = [item.id for item in portion]
                query = sa.select(table.c.id, table.c.text, table.c.options).where(table.c.id.in_(names))
                known = {row.id: (row.text, tuple(row.options)) for row in connection.execute(query)}
                fresh = [item for item in portion if item.id not in known]
                for item in portion:
                    if known.get(item.id, (item.text, item.options)) != (item.text, item.options):
                        raise DataError(
                            f"the item {item.id!r} is stored with another text or other options; give the "
                            "changed item a new id"
                        )
                if fresh:
                    rows = [_item_row(item, count + j) for j, item in enumerate(fresh)]
                    connection.execute(sa.insert(table), rows)
                count += len(fresh)
                ids += names
            if len(set(ids)) < len(ids):
                twice = next(name for name, n in Counter(ids).items() if n > 1)
                raise DataError(f"the item id {twice!r} is there twice; ids must be unique")
        return ids

    def items(self) -> list[Item]:
        """All items, in source order."""
        rows = self._all(sa.select(table_of(ItemRow)).order_by(table_of(ItemRow).c.position))
        return [item_of(row) for row in rows]

    # --- questions and answers ---------------------------------------------------------------

    def add_questions(self, questions: Sequence[Question]) -> int:
        """Store questions that are not there yet; return how many were new.

        A question keeps the expert it was first put to, even if routed again.
        """
        known = {row.id for row in self._all(sa.select(table_of(QuestionRow).c.id))}
        fresh = [q for q in questions if q.id not in known]
        self._insert(QuestionRow, [asdict(q) for q in fresh])
        return len(fresh)

    def questions(self) -> list[Question]:
        """All questions, in the order of their items."""
        question, item = table_of(QuestionRow), table_of(ItemRow)
        query = sa.select(question).join(item).order_by(item.c.position, question.c.option)
        return [
            Question(**{**row._mapping, "propensities": tuple(row.propensities)})  # noqa: SLF001  a public name
            for row in self._all(query)
        ]

    def add_answers(self, answers: Sequence[Answer]) -> int:
        """Store answers to stored questions, all or none; return how many were new.

        Raises
        ------
        StoreError
            If a question has another verdict already.
        """
        return Responses(self).add(
            [Response(a.question.id, a.expert, str(a.verdict), a.source, a.comment) for a in answers]
        )

    def answers(self) -> list[Answer]:
        """All answers with their questions, in order of arrival."""
        asked = {q.id: q for q in self.questions()}
        return [
            Answer(asked[r.id], r.expert, Verdict(r.value), r.source, r.comment)
            for r in Responses(self).replies().values()
        ]

    # --- runs and predictions ----------------------------------------------------------------

    def add_run(self, spec: RunSpec) -> None:
        """Store what a run is, if it is not there yet."""
        if self._all(sa.select(table_of(RunRow).c.id).where(table_of(RunRow).c.id == spec.id)):
            return
        created = datetime.now(UTC).isoformat()
        row = {"id": spec.id, "name": spec.name, "created": created, "spec": spec.model_dump(mode="json")}
        self._insert(RunRow, [row])

    def runs(self) -> list[dict[str, Any]]:
        """All runs as ``{"id", "name", "created", "spec"}``, oldest first."""
        rows = self._all(
            sa.select(table_of(RunRow)).order_by(table_of(RunRow).c.created, table_of(RunRow).c.name)
        )
        return [dict(row._mapping) for row in rows]  # noqa: SLF001  SQLAlchemy's public name

    def add_predictions(self, run_id: str, predictions: Iterable[Prediction]) -> None:
        """Store a batch of predictions of one run; see `harness.store.runs.store_predictions`."""
        store_predictions(self, [(run_id, p) for p in predictions])

    def predictions(self, run_id: str) -> list[Prediction]:
        """One prediction per item of a run, in the order of the items; several samples are put to a vote."""
        return list(take_votes(count_samples(self, run_id)))

    def counts(self) -> dict[str, int]:
        """Number of rows of each table."""
        tables = (ItemRow, QuestionRow, AnswerRow, RunRow, PredictionRow)
        with self.transaction() as connection:
            return {
                table_of(t).name: connection.execute(
                    select(func.count()).select_from(table_of(t))
                ).scalar_one()
                for t in tables
            }

    # --- plumbing ----------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """All or nothing, for this package's own SQL; database errors become `StoreError`."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.IntegrityError as error:
            raise StoreError(
                f"another process wrote the same rows at the same time ({error.orig}); nothing was "
                "written; run the command again"
            ) from error
        except sa.exc.SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreError(f"{self._engine.url!r}: the database cannot be used: {reason}") from error

    def _all(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        with self.transaction() as connection:
            return connection.execute(query).all()

    def _insert(self, row: type[SQLModel], rows: list[dict[str, Any]]) -> None:
        if rows:
            with self.transaction() as connection:
                connection.execute(sa.insert(table_of(row)), rows)


def _item_row(item: Item, position: int) -> dict[str, Any]:
    return {
        "id": item.id,
        "position": position,
        "text": item.text,
        "options": list(item.options),
        "permutation": list(item.permutation),
        "meta": dict(item.meta),
    }
