"""A study moved to another database is the same study."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store import Store
from oversight.harness.store.copying import copy_store
from tests.studies.opened import copy_study

STUDIES = Path(__file__).parents[1] / "studies"
Oversight = Callable[..., Any]


def read_all(store: Store) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    from oversight.harness.store.tables.table_maker import METADATA

    with store.transaction() as connection:
        return {
            table.name: sorted(repr(tuple(row)) for row in connection.execute(sa.select(table)))
            for table in METADATA.sorted_tables
            if table.name != "database_mark"  # each database has its own mark
        }


@pytest.mark.parametrize("name", ["desk", "panel", "partitioned", "search"])
def test_every_row_arrives(name: str, url: str, tmp_path: Path) -> None:
    folder = copy_study(name, tmp_path)
    here, there = f"sqlite:///{folder / 'study.db'}", url.replace("study.db", "copy.db")
    with Store(here) as source, Store(there) as target:
        copied = copy_store(source, target)
        assert read_all(target) == read_all(source)
        assert copied == {name: len(rows) for name, rows in read_all(source).items() if rows}
        with pytest.raises(StoreError, match="already contains a study"):
            copy_store(source, target)
        with Store(f"sqlite:///{tmp_path / 'back.db'}") as back:
            copy_store(target, back)
            assert read_all(back) == read_all(source)


def test_study_continues_in_the_copy(
    url: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_study("partitioned", tmp_path)
    monkeypatch.chdir(folder)
    to = url.replace("study.db", "copy.db").removeprefix("sqlite:///")
    before = [oversight("estimate"), oversight("compare"), oversight("store", "verify")]
    told = oversight("store", "copy", to)
    assert told["rows"] == sum(told["tables"].values())
    settings = Path("study.toml").read_text()
    named = "\n".join(line for line in settings.splitlines() if not line.startswith("store"))
    Path("study.toml").write_text(named.replace("[study]", f"[study]\nstore = {json.dumps(to)}", 1))
    Path("study.db").unlink()
    assert [oversight(verb) for verb in ("estimate", "compare")] == before[:2]
    assert "adopt" in oversight("label", "route", code=2)["error"]
    assert oversight("store", "adopt")
    assert oversight("store", "verify") == before[2]
    assert oversight("label", "route")["new"] == 0


def test_a_study_that_cannot_be_copied_is_refused(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    assert "contains a password" in oversight("store", "copy", "postgresql://a:b-9876@h/n", code=2)["error"]
    assert "b-9876" not in json.dumps(oversight("store", "copy", "postgresql://a:b-9876@h/n", code=2))
    assert "already contains a study" in oversight("store", "copy", "study.db", code=2)["error"]
    Path("study.db").unlink()
    assert "no database" in oversight("store", "copy", "other.db", code=2)["error"]
