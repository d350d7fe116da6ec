"""PostgreSQL as a team's database: addresses, roles, schemas, and connections that are lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.harness.config import read_study
from oversight.harness.errors import DataError, LostConnection, StoreError
from oversight.harness.store import Spending, Store
from oversight.harness.types import Item, Prediction, Usage
from tests.fakes.postgresql import empty_server, run_sql
from tests.store.test_study_store import SPEC

DOCUMENT = Path(__file__).parents[2] / "docs" / "postgresql.md"
ITEMS = [Item(f"i{j}", "text", ("a", "b"), (0, 1)) for j in range(4)]


@pytest.fixture
def server(postgresql: str) -> str:
    """An empty database on a server, by the address that a user writes."""
    empty_server(postgresql)
    return postgresql


def lose_connections(url: str) -> None:
    """End everybody else's connections, as a server that is restarted does."""
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'oversight'"
    run_sql(url, query)


@contextmanager
def lost_once(url: str, event: str, matching: str = "") -> Iterator[None]:
    """Lose the connection once, before the first statement of a kind or before a commit."""
    lost: list[str] = []

    def lose(connection: sa.Connection, *told: Any) -> None:
        statement = told[1] if event == "before_cursor_execute" else "commit"
        is_ours = dict(connection.engine.url.query).get("application_name") != "test"
        if is_ours and not lost and matching in statement:
            lost.append(statement)
            lose_connections(url)

    sa.event.listen(sa.Engine, event, lose)
    yield
    sa.event.remove(sa.Engine, event, lose)
    assert lost


def test_plain_postgresql_address_is_accepted(server: str) -> None:
    assert server.startswith("postgresql://")
    with Store(server) as store:
        assert store.content.add_items(ITEMS)
        assert not store.read_only
    with Store(server.replace("postgresql://", "postgres://")) as store:
        assert store.count_rows()["item"] == len(ITEMS)
    with pytest.raises(StoreError, match=r"postgresql://HOST/NAME"):
        Store("mysql://db.example.org/ward")


@pytest.mark.parametrize(
    "store", ["postgresql://ana:hunter22@db/ward", "postgresql://db/ward?password=hunter22&user=ana"]
)
def test_a_password_in_the_study_is_refused_and_not_shown(store: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        f'[study]\nname = "s"\nstore = "{store}"\n[items]\nfile = "items.csv"\nclasses = ["a", "b"]\n'
    )
    with pytest.raises(DataError, match="PGPASSWORD") as refused:
        read_study(tmp_path / "study.toml")
    assert "hunter22" not in str(refused.value)


def test_studies_in_separate_schemas_stay_separate(server: str) -> None:
    run_sql(server, "DROP SCHEMA IF EXISTS ward2 CASCADE", "CREATE SCHEMA ward2")
    glue = "&" if "?" in server else "?"
    with Store(server) as one, Store(f"{server}{glue}options=-csearch_path%3Dward2") as two:
        one.content.add_items(ITEMS)
        two.content.add_items(ITEMS[:1])
        assert (one.count_rows()["item"], two.count_rows()["item"]) == (4, 1)
    run_sql(server, "DROP SCHEMA ward2 CASCADE")


@pytest.fixture
def roles(server: str) -> Iterator[Callable[[str], str]]:
    """The roles of the document, on a database with items; address by role."""
    with Store(server) as store:
        store.content.add_items(ITEMS)
        store.runs.add_run(SPEC)
    [statements] = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    run_sql(server, *filter(str.strip, statements.split(";")))
    yield lambda role: re.sub("//[^/@]*@?", f"//oversight_{role}@", server, count=1)
    for role in ("oversight_writer", "oversight_reader"):
        run_sql(server, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_writer_role_cannot_change_the_audit_trail(roles: Callable[[str], str]) -> None:
    with Store(roles("writer")) as store:
        store.runs.store_predictions([(SPEC.id, Prediction("i0", 1))])
        assert len(store.runs.read_predictions(SPEC.id)) == 1
        assert not store.read_only
        with store.locks.hold({SPEC.id: "m"}):
            assert store.locks.find_held()
        with (
            pytest.raises(StoreError, match="permission denied for table audit_event"),
            store.transaction() as c,
        ):
            c.exec_driver_sql("DELETE FROM audit_event")


def test_a_reader_reads_and_writes_nothing(roles: Callable[[str], str]) -> None:
    with Store(roles("reader")) as store:
        assert store.read_only
        assert len(store.content.read_items()) == len(ITEMS)
        assert store.run_columns.read_run(SPEC.id, store.columns.read_index()) is not None
        with pytest.raises(StoreError, match="permission denied for table prediction"):
            store.runs.store_predictions([(SPEC.id, Prediction("i0", 1))])
        assert store.runs.read_predictions(SPEC.id) == []


def test_reading_continues_after_a_lost_connection(server: str) -> None:
    with Store(server) as store:
        store.content.add_items(ITEMS)
        lose_connections(server)
        assert len(store.content.read_items()) == len(ITEMS)  # this connection was idle
        with lost_once(server, "before_cursor_execute", "FROM item"):
            assert len(store.content.read_items()) == len(ITEMS)


@pytest.mark.parametrize("event", ["before_cursor_execute", "commit"])
def test_predictions_are_stored_once_over_a_lost_connection(event: str, server: str) -> None:
    with Store(server) as store:
        store.content.add_items(ITEMS)
        store.runs.add_run(SPEC)
        with lost_once(server, event):
            store.runs.store_predictions([(SPEC.id, Prediction("i0", 1))])
        assert len(store.runs.read_predictions(SPEC.id)) == 1


def test_usage_is_added_once_over_a_lost_connection(server: str) -> None:
    used = Spending(Usage(1, 20, 3), Usage())
    with Store(server) as store:
        store.content.add_items(ITEMS)
        store.runs.add_run(SPEC)
        with lost_once(server, "before_cursor_execute", "INSERT INTO ledger"):
            store.calls.spend(SPEC.id, [used])
        assert store.calls.read_spent(SPEC.id) == used.paid
        # A commit without a reply may have succeeded, so the amounts are not added again.
        with lost_once(server, "commit"), pytest.raises(LostConnection) as lost:
            store.calls.spend(SPEC.id, [used])
        assert lost.value.may_be_done
        assert lost.value.exit_code == 1


def test_a_write_that_must_not_repeat_is_reported(server: str) -> None:
    with Store(server) as store:
        told = pytest.raises(LostConnection, match="run the command again")
        with lost_once(server, "before_cursor_execute", "INSERT INTO item"), told:
            store.content.add_items(ITEMS)
        assert store.content.read_items() == []
        assert store.content.add_items(ITEMS)


def test_many_rows_arrive_as_few_do(server: str) -> None:
    """Through COPY, which knows nothing of keys: new ones are counted, known ones stay or give way."""
    many = [Item(f"m{j}", f"line\n\ttab \\N {j}", ("a", "b"), (1, 0)) for j in range(300)]
    with Store(server) as store:
        store.content.add_items(many[:100])
        store.content.add_items(many)
        assert store.content.read_items() == many
        store.runs.add_run(SPEC)
        first = [(SPEC.id, Prediction(item.id, 0, raw="first \0")) for item in many]
        again = [(SPEC.id, Prediction(item.id, 1, raw="again")) for item in many[50:]]
        store.runs.store_predictions(first)
        store.runs.store_predictions(first[:100] + again + again)
        found = Counter(p.raw for p in store.runs.read_predictions(SPEC.id))
    assert found == {"first \\u0000": 50, "again": 250}


def test_a_connection_lost_while_rows_are_copied_is_made_again(server: str) -> None:
    with Store(server) as store:
        store.content.add_items(ITEMS)
        store.runs.add_run(SPEC)
        rows = [(SPEC.id, Prediction(ITEMS[0].id, 1, sample=j)) for j in range(100)]
        with lost_once(server, "before_cursor_execute", "CREATE TEMPORARY TABLE"):
            store.runs.store_predictions(rows)
        assert store.runs.count_predictions(SPEC.id) == 100
