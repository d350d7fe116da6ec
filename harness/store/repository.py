"""The only SQL. Every write may be repeated: what is there already stays as it is."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as sa
from sqlmodel import SQLModel, func, select

from harness.errors import DataError, StoreError
from harness.store.schema import open_engine
from harness.store.tables import AnswerRow, ItemRow, PredictionRow, QuestionRow, RunRow
from harness.types import Answer, Item, Prediction, PredictionStatus, Question, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from harness.config import RunSpec


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

    def add_items(self, items: Sequence[Item]) -> int:
        """Store items that are not there yet; return how many were new.

        Raises
        ------
        DataError
            If an item is there with another text or other options: questions about it were asked
            as it was, so it may not change.
        """
        known = {item.id: item for item in self.items()}
        fresh = [item for item in items if item.id not in known]
        for item in items:
            old = known.get(item.id)
            if old is not None and (old.text, old.options) != (item.text, item.options):
                raise DataError(
                    f"the item {item.id!r} is stored with another text or other options; give the changed "
                    "item a new id"
                )
        rows = [
            {
                "id": item.id,
                "position": len(known) + j,
                "text": item.text,
                "options": list(item.options),
                "permutation": list(item.permutation),
                "meta": dict(item.meta),
            }
            for j, item in enumerate(fresh)
        ]
        self._insert(ItemRow, rows)
        return len(rows)

    def items(self) -> list[Item]:
        """All items, in source order."""
        rows = self._all(sa.select(_table(ItemRow)).order_by(_table(ItemRow).c.position))
        return [Item(r.id, r.text, tuple(r.options), tuple(r.permutation), r.meta) for r in rows]

    # --- questions and answers ---------------------------------------------------------------

    def add_questions(self, questions: Sequence[Question]) -> int:
        """Store questions that are not there yet; return how many were new.

        A question keeps the expert it was first put to, even if routed again.
        """
        known = {row.id for row in self._all(sa.select(_table(QuestionRow).c.id))}
        fresh = [q for q in questions if q.id not in known]
        self._insert(QuestionRow, [asdict(q) for q in fresh])
        return len(fresh)

    def questions(self) -> list[Question]:
        """All questions, in the order of their items."""
        question, item = _table(QuestionRow), _table(ItemRow)
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
        table = _table(AnswerRow)
        known = {r.question_id: r.verdict for r in self._all(sa.select(table.c.question_id, table.c.verdict))}
        fresh = []
        for answer in answers:
            verdict = known.get(answer.question.id)
            if verdict is None:
                fresh.append(answer)
            elif verdict != answer.verdict:
                raise StoreError(
                    f"question {answer.question.id!r} was answered {verdict!r} before and now "
                    f"{str(answer.verdict)!r}; a question has one answer"
                )
        rows = [
            {
                "question_id": a.question.id,
                "position": len(known) + j,
                "expert": a.expert,
                "verdict": str(a.verdict),
                "source": a.source,
                "comment": a.comment,
            }
            for j, a in enumerate(fresh)
        ]
        self._insert(AnswerRow, rows)
        return len(rows)

    def answers(self) -> list[Answer]:
        """All answers with their questions, in order of arrival."""
        asked = {q.id: q for q in self.questions()}
        rows = self._all(sa.select(_table(AnswerRow)).order_by(_table(AnswerRow).c.position))
        return [Answer(asked[r.question_id], r.expert, Verdict(r.verdict), r.source, r.comment) for r in rows]

    # --- runs and predictions ----------------------------------------------------------------

    def add_run(self, spec: RunSpec) -> None:
        """Store what a run is, if it is not there yet."""
        if self._all(sa.select(_table(RunRow).c.id).where(_table(RunRow).c.id == spec.id)):
            return
        created = datetime.now(UTC).isoformat(timespec="seconds")
        row = {"id": spec.id, "name": spec.name, "created": created, "spec": spec.model_dump(mode="json")}
        self._insert(RunRow, [row])

    def runs(self) -> list[dict[str, Any]]:
        """All runs as ``{"id", "name", "created", "spec"}``, oldest first."""
        rows = self._all(sa.select(_table(RunRow)).order_by(_table(RunRow).c.created, _table(RunRow).c.name))
        return [dict(row._mapping) for row in rows]  # noqa: SLF001  SQLAlchemy's public name

    def add_predictions(self, run_id: str, predictions: Iterable[Prediction]) -> None:
        """Store a batch of predictions in one transaction; a later one replaces an earlier one.

        So a failed prediction gives way to the answer of another try.
        """
        table = _table(PredictionRow)
        rows = [{**asdict(p), "status": str(p.status), "run_id": run_id} for p in predictions]
        same = sa.and_(
            table.c.run_id == sa.bindparam("run"),
            table.c.item_id == sa.bindparam("item"),
            table.c.sample == sa.bindparam("n"),
        )
        keys = [{"run": run_id, "item": r["item_id"], "n": r["sample"]} for r in rows]
        if rows:
            with self.transaction() as connection:
                connection.execute(sa.delete(table).where(same), keys)
                connection.execute(sa.insert(table), rows)

    def predictions(self, run_id: str) -> list[Prediction]:
        """All predictions of a run, in the order of the items."""
        table, item = _table(PredictionRow), _table(ItemRow)
        query = (
            sa.select(table)
            .join(item)
            .where(table.c.run_id == run_id)
            .order_by(item.c.position, table.c.sample)
        )
        return [_prediction(row._mapping) for row in self._all(query)]  # noqa: SLF001  SQLAlchemy's public name

    def counts(self) -> dict[str, int]:
        """Number of rows of each table."""
        tables = (ItemRow, QuestionRow, AnswerRow, RunRow, PredictionRow)
        with self.transaction() as connection:
            return {
                _table(t).name: connection.execute(select(func.count()).select_from(_table(t))).scalar_one()
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
                connection.execute(sa.insert(_table(row)), rows)


def _table(row: type[SQLModel]) -> sa.Table:
    table: sa.Table = row.__table__  # type: ignore[attr-defined]  # set by table=True
    return table


def _prediction(row: sa.RowMapping) -> Prediction:
    fields = {name: value for name, value in row.items() if name != "run_id"}
    return Prediction(**{**fields, "status": PredictionStatus(fields["status"])})
