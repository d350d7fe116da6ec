"""Predictions of runs as arrays, cached in the database until one of the run's predictions changes."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
import sqlalchemy as sa

from oversight.harness.arrays import FAILED, UNREADABLE, BoolArray, FloatArray, IntArray
from oversight.harness.columns import ABSENT, ItemIndex, PredictionColumns, mark
from oversight.harness.errors import StoreError
from oversight.harness.store.columns.study_columns import ColumnRepository
from oversight.harness.store.database import Database, Repository
from oversight.harness.store.runs import RunRepository
from oversight.harness.store.tables.study_tables import ITEM, PREDICTION, RUN_COLUMNS, RUN_VERSION
from oversight.harness.types import PredictionStatus, Source, Usage

_PREDICTION = PREDICTION.c
_VERSION = RUN_VERSION.c
_READ = (
    *("item_id", "option", "status", "confidence", "reason", "source", "step"),
    *("attempts", "input_tokens", "output_tokens"),
)
_OPTION, _CONFIDENCE = np.dtype("<i2"), np.dtype("<f8")
_CODES = {
    s.value: FAILED if s is PredictionStatus.FAILED else UNREADABLE
    for s in PredictionStatus
    if s is not PredictionStatus.OK
}
WORTH_KEEPING = 2_000
"""Minimum number of items for caching a run's columns; smaller runs are fast to read without a cache."""
_INCOMPLETE = "incomplete"
"""Name of the cached positions of the items with `PredictionColumns.has_fewer`."""
_MANY_FAILED = 0.02
"""Largest share of items whose failed samples are ignored, as in `explain_failed_calls`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunColumns:
    """Predictions of a run; several samples of an item are combined by a vote.

    Attributes
    ----------
    unreadable, failed
        Number of items with an unreadable answer, and with a failed one, by `Prediction.kind` of the reason.
    usage
        Usage of the stored answers, one sum per source; see `RunRepository.sum_answers`.
    steps
        Number of items by the parsing step that read the answer. Answers stored by older versions have no
        step and are left out.
    """

    predictions: PredictionColumns
    unreadable: Mapping[str, int]
    failed: Mapping[str, int]
    usage: tuple[Usage, ...]
    steps: Mapping[str, int]


class RunColumnsRepository(Repository):
    """Reads runs as columns, and caches the columns.

    Parameters
    ----------
    database
        The study's database.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._runs = RunRepository(database)

    def has_answer(self, run_id: str) -> bool:
        """Whether a run has at least one answer that did not fail."""
        came = _PREDICTION.status != PredictionStatus.FAILED.value
        return self._database.has_rows(PREDICTION, _PREDICTION.run_id == run_id, came)

    def is_kept(self, run_id: str) -> bool:
        """Whether the columns of a run are cached."""
        return self._find(run_id, sa.select(sa.literal(1))) is not None

    def count_answers(self, run_id: str) -> int:
        """Return the number of stored answers of a run over all samples, from the cache if possible."""
        kept = self._find(run_id, sa.select(RUN_COLUMNS.c.counts))
        return (
            self._runs.count_predictions(run_id) if kept is None else sum(u.answers for u in _usage_of(kept))
        )

    def keep(self, run_ids: Iterable[str]) -> None:
        """Cache the columns of finished runs, if the study has at least `WORTH_KEEPING` items."""
        if self._database.count(ITEM) >= WORTH_KEEPING:
            index = ColumnRepository(self._database).read_index()
            for run_id in run_ids:
                if not self.is_kept(run_id):
                    self.read_run(run_id, index)

    def read_run(self, run_id: str, index: ItemIndex) -> RunColumns:
        """Return the predictions of a run as columns; cache them if possible."""
        versions = self._database.read_rows(sa.select(_VERSION.version).where(_VERSION.run_id == run_id))
        with self._database.reading():
            kept = self._find(
                run_id, sa.select(RUN_COLUMNS.c.options, RUN_COLUMNS.c.confidences, RUN_COLUMNS.c.counts)
            )
            # Older versions did not cache the steps, nor mark items whose samples failed.
            if kept is not None and _INCOMPLETE in kept.counts:
                return _unpack(kept, index)
            found = self._make(run_id, index)
        # Inside a larger transaction, a write could fail, or block other processes until its end.
        can_keep = not (self._database.read_only or self._database.is_together)
        if can_keep and len(found.predictions) >= WORTH_KEEPING:
            row = {"run_id": run_id, "version": versions[0][0] if versions else 0, **_pack(found)}
            # If another process is writing, the columns are computed again next time.
            with contextlib.suppress(StoreError), self._database.unless_busy() as connection:
                connection.execute(sa.delete(RUN_COLUMNS).where(RUN_COLUMNS.c.run_id == run_id))
                connection.execute(sa.insert(RUN_COLUMNS), row)
        return found

    def _find(self, run_id: str, query: sa.Select[Any]) -> sa.Row[Any] | None:
        """Return a run's cached row; None if there is none or the run's predictions have changed since."""
        # A run without a version row has version 0, because the triggers have counted no changes yet.
        versions = sa.outerjoin(RUN_COLUMNS, RUN_VERSION, RUN_COLUMNS.c.run_id == _VERSION.run_id)
        is_present = RUN_COLUMNS.c.version == sa.func.coalesce(_VERSION.version, 0)
        query = query.select_from(versions).where(RUN_COLUMNS.c.run_id == run_id, is_present)
        rows = self._database.read_rows(query)
        return rows[0] if rows else None

    def _make(self, run_id: str, index: ItemIndex) -> RunColumns:
        if not self._runs.has_samples(run_id):
            return self._read_once(run_id, index)
        found = self._runs.read_predictions(run_id)
        kinds = [(p.status.value, p.kind) for p in found if p.kind]
        steps = Counter(p.step for p in found if p.step)
        predictions = replace(PredictionColumns.of(found, index), has_fewer=self._find_fewer(run_id, index))
        return _columns(predictions, kinds, self._runs.sum_answers(run_id), steps)

    def _find_fewer(self, run_id: str, index: ItemIndex) -> BoolArray | None:
        """Return whether each item has fewer samples than the item with the most samples, shape (N,).

        If more than 2 % of the items have failed samples, an item with both failed and other samples counts
        as having fewer.
        Return None if all items of the run have equally many samples.
        """
        is_failed = sa.case((_PREDICTION.status == PredictionStatus.FAILED.value, 1), else_=0)
        query = sa.select(_PREDICTION.item_id, sa.func.count(), sa.func.sum(is_failed))
        grouped = query.where(_PREDICTION.run_id == run_id).group_by(_PREDICTION.item_id)
        found = [(name, n, int(lost)) for name, n, lost in self._database.read_rows(grouped)]
        most = max(n for _, n, _ in found)
        few = {name for name, n, _ in found if n < most}
        failed = [name for name, _, lost in found if lost]
        if len(failed) > _MANY_FAILED * len(found):
            few |= {name for name, n, lost in found if 0 < lost < n}
        places = index.find_places([name for name, _, _ in found if name in few and name in index.places])
        return mark(places, index.size) if places.size else None

    def _read_once(self, run_id: str, index: ItemIndex) -> RunColumns:
        """Read a run that has one sample per item, in one pass over the run's rows."""
        option = np.full(index.size, ABSENT, np.int16)
        sure: FloatArray | None = None
        reasons: list[tuple[int, str, str]] = []
        used: dict[str, IntArray] = {}
        steps = Counter[str]()
        query = sa.select(*(_PREDICTION[name] for name in _READ)).where(_PREDICTION.run_id == run_id)
        for items, chosen, status, confidence, reason, source, step, *numbers in self._database.read_portions(
            query
        ):
            steps.update(filter(None, step))
            rows = index.find_places(items)
            known = (rows >= 0) & (rows < index.size)  # further items were stored after the index was read
            codes = [_CODES[s] if c is None else c for s, c in zip(status, chosen, strict=True)]
            option[rows[known]] = np.array(codes, np.int16)[known]
            given = np.array(confidence, np.float64)
            if not np.isnan(given).all():
                sure = np.full(index.size, np.nan) if sure is None else sure
                sure[rows[known]] = given[known]
            told = zip(rows.tolist(), status, reason, strict=True)
            reasons += [(row, s, text.partition(":")[0]) for row, s, text in told if text]
            _sum_up(used, source, numbers)
        kinds = [(status, kind) for _, status, kind in sorted(reasons, key=itemgetter(0))]
        usage = [_make_usage(source, *used[source].tolist()) for source in sorted(used)]
        return _columns(PredictionColumns(index=index, option=option, confidence=sure), kinds, usage, steps)


def _sum_up(used: dict[str, IntArray], sources: Sequence[str], numbers: Sequence[Sequence[int]]) -> None:
    """Add a batch of rows to the totals of answers, requests and tokens of each source."""
    each = np.array([[1] * len(sources), *numbers], dtype=np.int64)
    for source in set(sources):
        mine = np.array([s == source for s in sources])
        used[source] = used.get(source, np.zeros(len(each), np.int64)) + each[:, mine].sum(axis=1)


def _columns(
    predictions: PredictionColumns,
    kinds: Sequence[tuple[str, str]],
    usage: Sequence[Usage],
    steps: Counter[str],
) -> RunColumns:
    """Return the `RunColumns`; `kinds` are the pairs (status, kind of reason) of the predictions."""
    failed = PredictionStatus.FAILED.value
    unreadable = Counter(kind for s, kind in kinds if s not in (failed, PredictionStatus.OK.value))
    return RunColumns(
        predictions=predictions,
        unreadable=dict(unreadable.most_common()),
        failed=dict(Counter(kind for s, kind in kinds if s == failed).most_common()),
        usage=tuple(usage),
        steps=dict(sorted(steps.items())),
    )


def _pack(found: RunColumns) -> dict[str, Any]:
    sure, fewer = found.predictions.confidence, found.predictions.has_fewer
    usage = [[str(u.source), u.answers, u.requests, u.input_tokens, u.output_tokens] for u in found.usage]
    return {
        "options": found.predictions.option.astype(_OPTION).tobytes(),
        "confidences": b"" if sure is None else sure.astype(_CONFIDENCE).tobytes(),
        "counts": {
            "unreadable": found.unreadable,
            "failed": found.failed,
            "usage": usage,
            "steps": found.steps,
            _INCOMPLETE: [] if fewer is None else np.flatnonzero(fewer).tolist(),
        },
    }


def _unpack(row: sa.Row[Any], index: ItemIndex) -> RunColumns:
    option = np.full(index.size, ABSENT, np.int16)
    options = np.frombuffer(row.options, _OPTION)
    # Items stored after the columns were cached have no prediction: storing one would invalidate the cache.
    option[: options.size] = options
    sure = None
    if row.confidences:
        sure = np.full(index.size, np.nan)
        sure[: options.size] = np.frombuffer(row.confidences, _CONFIDENCE)
    few = row.counts[_INCOMPLETE]
    fewer = mark(np.array(few, np.int64), index.size) if few else None
    return RunColumns(
        predictions=PredictionColumns(index=index, option=option, confidence=sure, has_fewer=fewer),
        unreadable=row.counts["unreadable"],
        failed=row.counts["failed"],
        usage=_usage_of(row),
        steps=row.counts["steps"],
    )


def _usage_of(row: sa.Row[Any]) -> tuple[Usage, ...]:
    return tuple(_make_usage(source, *numbers) for source, *numbers in row.counts["usage"])


def _make_usage(source: str, answers: int, requests: int, sent: int, received: int) -> Usage:
    return Usage(requests, sent, received, answers, Source(source))
