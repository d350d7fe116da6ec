"""SQL of the runner: what is left to ask, predictions in bulk, what endpoints can do, batches under way.

Everything is read and written in portions, so that memory does not grow with the number of items.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from harness.store.tables import BatchRow, ItemRow, PredictionRow, ProbeRow, table_of
from harness.store.upsert import insert_into, upsert
from harness.types import Item, Prediction, PredictionStatus, Source

if TYPE_CHECKING:
    from harness.store.repository import Repository

PORTION = 500
UNDER_WAY = ("sending", "sent")
"""States of a batch that may still bring answers; afterwards it is "collected", "failed" or "cancelled"."""

_FIELDS = tuple(name for name in table_of(PredictionRow).columns.keys() if name != "run_id")  # noqa: SIM118
_values = attrgetter(*_FIELDS)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run used so far, from one source."""

    source: Source
    predictions: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of requests at an endpoint; `remote_id` is None until the endpoint has told it."""

    marker: str
    run_id: str
    remote_id: str | None
    state: str
    requests: tuple[tuple[str, int], ...]


def store_predictions(store: Repository, rows: Sequence[tuple[str, Prediction]]) -> None:
    """Store predictions of any runs in one transaction; a later one replaces an earlier one.

    So a failed prediction gives way to the answer of another try.
    """
    if not rows:
        return
    with store.transaction() as connection:
        upsert(connection, table_of(PredictionRow), [(run_id, *_values(p)) for run_id, p in rows])


def count_samples(store: Repository, run_id: str) -> Iterator[Prediction]:
    """All predictions of a run, sample by sample, in the order of the items."""
    table, item = table_of(PredictionRow), table_of(ItemRow)
    query = (
        sa.select(*(table.c[name] for name in _FIELDS))
        .join(item)
        .where(table.c.run_id == run_id)
        .order_by(item.c.position, table.c.sample)
    )
    with store.transaction() as connection:
        for row in connection.execution_options(yield_per=PORTION).execute(query):
            yield _prediction(row)


def find_unasked(
    store: Repository, run_id: str, ids: Sequence[str], n_samples: int, *, retry_failed: bool = False
) -> Iterator[list[tuple[str, int]]]:
    """Item ids and sample numbers without a stored answer, portion by portion, in the order of `ids`."""
    table = table_of(PredictionRow)
    done = sa.select(table.c.item_id, table.c.sample).where(table.c.run_id == run_id)
    if retry_failed:
        done = done.where(table.c.status != PredictionStatus.FAILED.value)
    for portion in split_into_batches(ids, PORTION):
        with store.transaction() as connection:
            have = {
                (r.item_id, r.sample) for r in connection.execute(done.where(table.c.item_id.in_(portion)))
            }
        yield [(i, s) for i in portion for s in range(n_samples) if (i, s) not in have]


def items_by_id(store: Repository, ids: Collection[str]) -> dict[str, Item]:
    """Stored items of these ids; fewer if some are not stored."""
    table = table_of(ItemRow)
    with store.transaction() as connection:
        rows = connection.execute(sa.select(table).where(table.c.id.in_(ids)))
        return {row.id: item_of(row) for row in rows}


def sum_usage(store: Repository, run_id: str) -> list[Usage]:
    """Sum up what a run used, by source."""
    table = table_of(PredictionRow)
    columns = (sa.func.count(), sa.func.sum(table.c.input_tokens), sa.func.sum(table.c.output_tokens))
    query = sa.select(table.c.source, *columns).where(table.c.run_id == run_id).group_by(table.c.source)
    with store.transaction() as connection:
        return [Usage(Source(s), n, int(i), int(o)) for s, n, i, o in connection.execute(query)]


def read_probe(store: Repository, endpoint: str, model: str, feature: str) -> bool | None:
    """Whether a model offers something; None if that was not tried yet."""
    table = table_of(ProbeRow)
    query = sa.select(table.c.offered).where(
        table.c.endpoint == endpoint, table.c.model == model, table.c.feature == feature
    )
    with store.transaction() as connection:
        row = connection.execute(query).first()
    return None if row is None else bool(row[0])


def add_probe(
    store: Repository, endpoint: str, model: str, feature: str, *, offered: bool, detail: str
) -> None:
    """Note what a model offers; the first finding stays."""
    values = {"endpoint": endpoint, "model": model, "feature": feature, "offered": offered, "detail": detail}
    with store.transaction() as connection:
        insert = insert_into(table_of(ProbeRow), connection.dialect)
        connection.execute(insert.values(values).on_conflict_do_nothing())


def add_batch(store: Repository, batch: Batch) -> None:
    """Note a batch that is about to be handed over."""
    values = {name: getattr(batch, name) for name in ("marker", "run_id", "remote_id", "state")}
    requests = [list(request) for request in batch.requests]
    with store.transaction() as connection:
        connection.execute(sa.insert(table_of(BatchRow)).values(**values, requests=requests))


def update_batch(store: Repository, marker: str, *, remote_id: str | None, state: str) -> None:
    """Note what became of a batch."""
    table = table_of(BatchRow)
    with store.transaction() as connection:
        statement = sa.update(table).where(table.c.marker == marker)
        connection.execute(statement.values(remote_id=remote_id, state=state))


def read_batches(store: Repository, run_id: str, states: Collection[str]) -> list[Batch]:
    """Batches of a run that are in one of these states."""
    table = table_of(BatchRow)
    query = sa.select(table).where(table.c.run_id == run_id, table.c.state.in_(states))
    with store.transaction() as connection:
        return [
            Batch(r.marker, r.run_id, r.remote_id, r.state, tuple((i, s) for i, s in r.requests))
            for r in connection.execute(query.order_by(table.c.marker))
        ]


def item_of(row: sa.Row[Any]) -> Item:
    """Make an item of its row."""
    return Item(row.id, row.text, tuple(row.options), tuple(row.permutation), row.meta)


def split_into_batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut a stream into lists of `size`; the last one may be shorter."""
    source = iter(values)
    while portion := list(islice(source, size)):
        yield portion


def _prediction(row: sa.Row[Any]) -> Prediction:
    values = dict(row._mapping)  # noqa: SLF001  SQLAlchemy's public name
    values["status"], values["source"] = PredictionStatus(row.status), Source(row.source)
    return Prediction(**values)
