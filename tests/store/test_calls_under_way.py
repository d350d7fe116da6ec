"""Costs of workflow runs, and calls in flight when a run was killed, on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlalchemy as sa

from oversight.harness.config import ModelSection
from oversight.harness.llm import make_spec
from oversight.harness.store import Spending, Store
from oversight.harness.store.tables.study_tables import SEARCH, StoredCall
from oversight.harness.types import Item, Usage

RUN = make_spec("m", ModelSection(model="m", endpoint="http://127.0.0.1:9/v1"), "$text", None)
GOES_OUT = Spending(under_way=Usage(1, 10, 2_000_000_000))
COMES_BACK = Spending(Usage(1, 9, 5), Usage(-1, -10, -2_000_000_000))


def test_calls_of_a_dead_command_are_charged_once(url: str) -> None:
    with Store(url) as store:
        store.runs.add_run(RUN)
        account = store.calls
        assert account.read_spent(RUN.id) is None
        assert account.charge_calls_left(RUN.id) == Usage(0, 0, 0, 0)
        account.spend(RUN.id, [GOES_OUT, GOES_OUT])
        account.spend(RUN.id, [COMES_BACK, GOES_OUT, COMES_BACK])
    with Store(url) as store:
        account = store.calls
        assert account.read_spent(RUN.id) == Usage(2, 18, 10)
        left = Usage(1, 10, 2_000_000_000, 1)
        assert account.charge_calls_left(RUN.id) == left
        assert account.charge_calls_left(RUN.id) == Usage(0, 0, 0, 0)
        assert account.read_charge(RUN.id) == left
        assert account.read_spent(RUN.id) == Usage(2, 18, 10)


def test_finished_calls_leave_no_reservation(url: str) -> None:
    with Store(url) as store:
        store.runs.add_run(RUN)
        for change in (GOES_OUT, COMES_BACK):
            store.calls.spend(RUN.id, [change])
        assert store.calls.charge_calls_left(RUN.id) == Usage(0, 0, 0, 0)
        assert store.calls.read_charge(RUN.id) == Usage(0, 0, 0, 0)


def test_calls_and_searches_stay_in_order_if_the_clock_is_set_back(url: str) -> None:
    call = StoredCall("k", "", "", "stop", 700, 300, None, 1.0, "", "2026-01-01T00:00:00+00:00")
    with Store(url) as store:
        store.content.add_items([Item("i", "text", ("a", "b"), (0, 1))])
        store.searches.add_search("first", {}, {"select": ["i"]})
        with store.transaction() as connection:
            connection.execute(sa.update(SEARCH).values(created="2999-01-01T00:00:00.000+00:00"))
        store.calls.write_calls([call])
        assert store.searches.read_spent("first") == (0, 1000, (700, 300))
        store.searches.add_search("second", {}, {"select": ["i"]})
        assert [search["id"] for search in store.searches.read_searches()] == ["first", "second"]
