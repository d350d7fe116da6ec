"""Columns of runs are what the rows say, also after a row was changed behind our back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from oversight.harness import FAILED, UNREADABLE
from oversight.harness.columns import ABSENT, PredictionColumns
from oversight.harness.store import RunColumns, Store
from oversight.harness.store.columns import run_columns
from oversight.harness.store.tables.study_tables import PREDICTION, RUN_COLUMNS
from oversight.harness.types import Item, Prediction, PredictionStatus
from tests.store.test_study_store import SPEC

ITEMS = [Item(f"i{j}", f"text {j}", ("a", "b", "c"), (0, 1, 2)) for j in range(12)]


@pytest.fixture(autouse=True)
def keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_columns, "WORTH_KEEPING", 1)


def fill(store: Store, **more: Any) -> None:
    store.content.add_items(ITEMS)
    store.runs.add_run(SPEC)
    rows = [Prediction(i.id, j % 3, input_tokens=7, **more) for j, i in enumerate(ITEMS[:10])]
    rows[3] = Prediction("i3", None, PredictionStatus.UNREADABLE, "refusal: no")
    rows[4] = Prediction("i4", None, PredictionStatus.FAILED, "timeout: 60 s")
    store.runs.store_predictions([(SPEC.id, p) for p in rows])


def read(store: Store) -> RunColumns:
    return store.run_columns.read_run(SPEC.id, store.columns.read_index())


def count_kept(store: Store) -> int:
    return len(store.read_rows(sa.select(RUN_COLUMNS.c.run_id)))


def test_columns_equal_the_rows(url: str) -> None:
    with Store(url) as store:
        fill(store, confidence=0.1)
        assert not store.run_columns.is_kept(SPEC.id)
        first, again = read(store), read(store)
        assert store.run_columns.is_kept(SPEC.id)
        assert count_kept(store) == 1
        found = store.runs.read_predictions(SPEC.id)
        expected = PredictionColumns.of(found, first.predictions.index)
        for columns in (first, again):
            one = columns.predictions
            assert one.option.tolist() == expected.option.tolist()
            assert one.option[[3, 4, 10, 11]].tolist() == [UNREADABLE, FAILED, ABSENT, ABSENT]
            assert one.confidence is not None
            np.testing.assert_array_equal(one.confidence, expected.confidence)
            assert (columns.unreadable, columns.failed) == ({"refusal": 1}, {"timeout": 1})
            assert list(columns.usage) == store.runs.sum_usage(SPEC.id)


def test_columns_that_an_older_version_cached_are_made_again(url: str) -> None:
    with Store(url) as store:
        store.content.add_items(ITEMS)
        store.runs.add_run(SPEC)
        rows = [Prediction(item.id, 0, sample=sample) for item in ITEMS for sample in range(3)]
        for place in range(2, len(rows), 9):
            rows[place] = replace(rows[place], option=None, status=PredictionStatus.FAILED, reason="timeout")
        store.runs.store_predictions([(SPEC.id, row) for row in rows])
        new = read(store)
        assert new.predictions.has_fewer is not None
        assert np.flatnonzero(new.predictions.has_fewer).tolist() == [0, 3, 6, 9]
        (counts,) = (dict(row[0]) for row in store.read_rows(sa.select(RUN_COLUMNS.c.counts)))
        old = {name: counts[name] for name in ("unreadable", "failed", "usage", "steps")}
        with store.transaction() as connection:
            connection.execute(RUN_COLUMNS.update().values(counts={**old, "fewer": []}))
        again = read(store).predictions.has_fewer
        np.testing.assert_array_equal(again, new.predictions.has_fewer)


_NAMES = ", ".join(column.name for column in PREDICTION.c)
_ONE_MORE = (
    f"INSERT INTO prediction ({_NAMES}) "  # noqa: S608  fixed
    f"SELECT {_NAMES.replace('item_id', chr(39) + 'i11' + chr(39))} FROM prediction WHERE item_id = 'i0'"
)
_TWO_MORE = _ONE_MORE + " UNION ALL " + _ONE_MORE.partition(") ")[2].replace("i11", "i10")
CHANGES: dict[str, Callable[[sa.Connection], Any]] = {
    "an option": lambda c: c.execute(
        PREDICTION.update().where(PREDICTION.c.item_id == "i0").values(option=2)
    ),
    "a row less": lambda c: c.execute(PREDICTION.delete().where(PREDICTION.c.item_id == "i0")),
    "a row more": lambda c: c.execute(sa.text(_ONE_MORE)),
    "several rows less": lambda c: c.execute(PREDICTION.delete().where(PREDICTION.c.item_id < "i3")),
    "several rows more": lambda c: c.execute(sa.text(_TWO_MORE)),
    "all rows": lambda c: c.execute(PREDICTION.update().values(option=1, status="ok", reason="")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_row_that_somebody_changed_is_seen(change: str, url: str) -> None:
    with Store(url) as store:
        fill(store)
        before = read(store).predictions.option.tolist()
        engine = sa.create_engine(url)  # simulates another program, which does not update the columns
        with engine.begin() as connection:
            CHANGES[change](connection)
        engine.dispose()
        index = store.columns.read_index()
        expected = PredictionColumns.of(store.runs.read_predictions(SPEC.id), index).option.tolist()
        assert expected != before
        assert read(store).predictions.option.tolist() == expected
        assert read(store).predictions.option.tolist() == expected


def test_columns_of_a_run_that_never_changed_since_it_is_counted_are_kept(url: str) -> None:
    with Store(url) as store:
        fill(store)
        with store.transaction() as connection:
            connection.execute(sa.text("DELETE FROM run_version"))
        read(store)
        assert store.run_columns.is_kept(SPEC.id)
        store.runs.store_predictions([(SPEC.id, Prediction("i0", 2))])
        assert read(store).predictions.option.tolist()[0] == 2


def test_finished_run_is_cached_immediately(url: str) -> None:
    with Store(url) as store:
        fill(store)
        store.run_columns.keep([SPEC.id])
        assert store.run_columns.is_kept(SPEC.id)
        assert read(store).predictions.option.tolist()[:3] == [0, 1, 2]


def test_items_stored_since_have_no_prediction(url: str) -> None:
    with Store(url) as store:
        fill(store)
        read(store)
        store.content.add_items([Item("new", "text", ("a", "b", "c"), (0, 1, 2))])
        assert store.run_columns.is_kept(SPEC.id)
        assert read(store).predictions.option.tolist()[-3:] == [ABSENT] * 3


def test_samples_are_put_to_a_vote(url: str) -> None:
    with Store(url) as store:
        fill(store)
        more = [Prediction(i.id, 2, sample=s) for i in ITEMS[:2] for s in (1, 2)]
        store.runs.store_predictions([(SPEC.id, p) for p in more])
        for _ in range(2):
            assert read(store).predictions.option.tolist()[:3] == [2, 2, 2]


def test_a_read_only_database_is_read(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with Store(url) as store:
        fill(store)
    (tmp_path / "study.db").chmod(0o400)
    with Store(url) as store:
        store.read_only = True
        assert read(store).predictions.option.tolist()[:3] == [0, 1, 2]
        assert count_kept(store) == 0


def test_estimate_does_not_wait_for_writers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with Store(url) as store, Store(url) as other:
        fill(store)
        with other.transaction(exclusive=True):
            assert read(store).predictions.option.tolist()[:3] == [0, 1, 2]
            assert count_kept(store) == 0
        read(store)
        assert count_kept(store) == 1
        with store.transaction() as connection:
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 1_000
