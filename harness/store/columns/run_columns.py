"""What runs have answered as columns: read from the rows once, and kept beside them until a row changes."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from harness.arrays import FAILED, UNREADABLE, FloatArray
from harness.columns import ABSENT, ItemIndex, PredictionColumns
from harness.errors import StoreError
from harness.store.columns.study_columns import ColumnRepository
from harness.store.database import Database, Repository
from harness.store.runs import RunRepository, Usage
from harness.store.tables import ItemRow, PredictionRow, RunColumnsRow, RunVersionRow
from harness.types import PredictionStatus, Source

_PREDICTION = PredictionRow.__table__.c
_KEPT, _VERSION = RunColumnsRow.__table__, RunVersionRow.__table__.c
_OPTION, _CONFIDENCE = np.dtype("<i2"), np.dtype("<f8")
_CODES = {
    s.value: FAILED if s is PredictionStatus.FAILED else UNREADABLE
    for s in PredictionStatus
    if s is not PredictionStatus.OK
}
WORTH_KEEPING = 2_000
"""Items of a run from which on its columns are kept; fewer rows are read as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunColumns:
    """What a run has answered, several samples put to a vote.

    Attributes
    ----------
    unreadable, failed
        Kind of reason → number of items.
    usage
        What was used, by source; see `harness.store.RunRepository.sum_usage`, without charges.
    """

    predictions: PredictionColumns
    unreadable: Mapping[str, int]
    failed: Mapping[str, int]
    usage: tuple[Usage, ...]


class RunColumnsRepository(Repository):
    """Columns of runs.

    Parameters
    ----------
    database
        The study's database.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._runs = RunRepository(database)

    def has_answer(self, run_id: str) -> bool:
        """Whether any answer of a run came."""
        came = _PREDICTION.status != PredictionStatus.FAILED.value
        query = sa.select(_PREDICTION.sample).where(_PREDICTION.run_id == run_id, came)
        return bool(self._database.read_rows(query.limit(1)))

    def is_kept(self, run_id: str) -> bool:
        """Whether the columns of a run need not be made."""
        return self._find(run_id, sa.select(sa.literal(1))) is not None

    def keep(self, run_ids: Iterable[str]) -> None:
        """Make the columns of runs that came to an end, where that is worth it; estimates find them."""
        number = sa.select(sa.func.count()).select_from(ItemRow)
        if self._database.read_rows(number)[0][0] >= WORTH_KEEPING:
            index = ColumnRepository(self._database).read_index()
            for run_id in run_ids:
                if not self.is_kept(run_id):
                    self.read_run(run_id, index)

    def read_run(self, run_id: str, index: ItemIndex) -> RunColumns:
        """What a run has answered; kept for the next time, where the database can be written."""
        version = self._read_version(run_id)
        with self._database.reading():
            kept = self._find(run_id, sa.select(_KEPT.c.options, _KEPT.c.confidences, _KEPT.c.counts))
            if kept is not None:
                return _unpack(kept, index)
            found = self._make(run_id, index)
        if len(found.predictions) >= WORTH_KEEPING and not self._database.read_only:
            row = {"run_id": run_id, "version": version, **_pack(found)}
            # Whoever writes there now may write on; the columns are made anew next time.
            with contextlib.suppress(StoreError), self._database.unless_busy() as connection:
                connection.execute(sa.delete(_KEPT).where(_KEPT.c.run_id == run_id))
                connection.execute(sa.insert(_KEPT), row)
        return found

    def _find(self, run_id: str, query: sa.Select[Any]) -> sa.Row[Any] | None:
        """A row of what is kept, if it is of the present version."""
        # a run whose rows did not change since the database began to count has no version yet
        versions = sa.outerjoin(_KEPT, RunVersionRow, _KEPT.c.run_id == _VERSION.run_id)
        is_present = _KEPT.c.version == sa.func.coalesce(_VERSION.version, 0)
        query = query.select_from(versions).where(_KEPT.c.run_id == run_id, is_present)
        rows = self._database.read_rows(query)
        return rows[0] if rows else None

    def _read_version(self, run_id: str) -> int:
        rows = self._database.read_rows(sa.select(_VERSION.version).where(_VERSION.run_id == run_id))
        return rows[0][0] if rows else 0

    def _make(self, run_id: str, index: ItemIndex) -> RunColumns:
        most = sa.select(sa.func.max(_PREDICTION.sample)).where(_PREDICTION.run_id == run_id)
        several = self._database.read_rows(most)[0][0]
        if several:
            found = self._runs.read_predictions(run_id)
            predictions = PredictionColumns.of(found, index)
            kinds = [(p.status, p.kind) for p in found if p.kind]
        else:
            predictions, kinds = self._read_rows(run_id, index), self._read_kinds(run_id, index)
        return RunColumns(
            predictions=predictions,
            unreadable=_count(kind for status, kind in kinds if status.no_option),
            failed=_count(kind for status, kind in kinds if status is PredictionStatus.FAILED),
            usage=tuple(self._runs.sum_answers(run_id)),
        )

    def _read_rows(self, run_id: str, index: ItemIndex) -> PredictionColumns:
        option = np.full(index.size, ABSENT, np.int16)
        sure: FloatArray | None = None
        columns = (_PREDICTION.item_id, _PREDICTION.option, _PREDICTION.status, _PREDICTION.confidence)
        query = sa.select(*columns).where(_PREDICTION.run_id == run_id)
        for items, chosen, status, confidence in self._database.read_portions(query):
            rows = index.find(items)
            known = (rows >= 0) & (rows < index.size)  # others were stored after the index was read
            codes = [_CODES[s] if c is None else c for s, c in zip(status, chosen, strict=True)]
            option[rows[known]] = np.array(codes, np.int16)[known]
            given = np.array(confidence, np.float64)
            if not np.isnan(given).all():
                sure = np.full(index.size, np.nan) if sure is None else sure
                sure[rows[known]] = given[known]
        return PredictionColumns(index=index, option=option, confidence=sure)

    def _read_kinds(self, run_id: str, index: ItemIndex) -> list[tuple[PredictionStatus, str]]:
        """Status and kind of reason where there is one, in the order of the items."""
        columns = (_PREDICTION.item_id, _PREDICTION.status, _PREDICTION.reason)
        query = sa.select(*columns).where(_PREDICTION.run_id == run_id, _PREDICTION.reason != "")
        rows = self._database.read_rows(query)
        order = np.argsort(index.find(item for item, *_ in rows), kind="stable")
        found = (rows[j] for j in order.tolist())
        return [(PredictionStatus(status), reason.partition(":")[0]) for _, status, reason in found]


def _count(kinds: Iterator[str]) -> dict[str, int]:
    return dict(Counter(kinds).most_common())


def _pack(found: RunColumns) -> dict[str, Any]:
    sure = found.predictions.confidence
    usage = [[str(u.source), u.predictions, u.requests, u.input_tokens, u.output_tokens] for u in found.usage]
    return {
        "options": found.predictions.option.astype(_OPTION).tobytes(),
        "confidences": b"" if sure is None else sure.astype(_CONFIDENCE).tobytes(),
        "counts": {"unreadable": found.unreadable, "failed": found.failed, "usage": usage},
    }


def _unpack(row: sa.Row[Any], index: ItemIndex) -> RunColumns:
    option = np.full(index.size, ABSENT, np.int16)
    options = np.frombuffer(row.options, _OPTION)
    option[: options.size] = options  # items stored since have no prediction, or the version were another
    sure = None
    if row.confidences:
        sure = np.full(index.size, np.nan)
        sure[: options.size] = np.frombuffer(row.confidences, _CONFIDENCE)
    return RunColumns(
        predictions=PredictionColumns(index=index, option=option, confidence=sure),
        unreadable=row.counts["unreadable"],
        failed=row.counts["failed"],
        usage=tuple(Usage(Source(source), *numbers) for source, *numbers in row.counts["usage"]),
    )
