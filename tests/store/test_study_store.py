from __future__ import annotations

import shutil
import sqlite3
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from oversight.harness import DataError, StoreError
from oversight.harness.config import ModelSection
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.store.database import Database
from oversight.harness.store.tables.table_maker import METADATA
from oversight.harness.types import Answer, Item, Prediction, PredictionStatus, Question, Verdict

SPEC = make_spec("m", ModelSection(model="m"), "$text", None)


def questions(items: list[Item]) -> list[Question]:
    return [Question(f"q{i.id}", i.id, 1, "ana", 3, "partitioned", 1 / 3, 7) for i in items]


def fill(store: Store, items: list[Item]) -> None:
    store.content.add_items(items)
    store.content.add_questions(questions(items))
    store.content.add_answers([Answer(q, "ana", Verdict.NO, "t", "é") for q in questions(items)[:4]])
    store.runs.add_run(SPEC)
    store.runs.store_predictions([(SPEC.id, Prediction(i.id, 2, raw="c", seconds=0.5)) for i in items])


def test_written_records_are_read_back(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        fill(store, items)
        assert store.content.read_items() == items
        assert store.content.read_questions() == questions(items)
        assert [a.question.id for a in store.content.read_answers()] == ["qi0", "qi1", "qi2", "qi3"]
        assert store.content.read_answers()[0] == Answer(questions(items)[0], "ana", Verdict.NO, "t", "é")
        assert store.runs.read_predictions(SPEC.id)[5] == Prediction("i5", 2, raw="c", seconds=0.5)
        assert store.runs.read_runs()[0]["spec"]["template"] == "$text"


def test_writing_twice_changes_nothing(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        fill(store, items)
        before = store.count_rows()
        fill(store, items)
        assert (
            store.count_rows() == before == {"item": 6, "question": 6, "answer": 4, "run": 1, "prediction": 6}
        )


def test_last_run_is_the_newest_after_the_clock_was_set_back(tmp_path: Path) -> None:
    other = SPEC.model_copy(update={"temperature": 0.5})
    path = tmp_path / "s.db"
    with Store(f"sqlite:///{path}") as store:
        store.runs.add_run(SPEC)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE run SET created = '2999-12-31T23:59:59+00:00'")
    with Store(f"sqlite:///{path}") as store:
        for spec, before in ((other, SPEC), (SPEC, other)):
            assert store.runs.add_run(spec) == before.id
            assert store.runs.read_runs()[-1]["id"] == spec.id


def test_a_later_prediction_takes_the_place_of_a_failed_one(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        store.content.add_items(items)
        store.runs.add_run(SPEC)
        store.runs.store_predictions([(SPEC.id, Prediction("i0", None, PredictionStatus.FAILED, "HTTP 500"))])
        store.runs.store_predictions([(SPEC.id, Prediction("i0", 1))])
        assert store.runs.read_predictions(SPEC.id) == [Prediction("i0", 1)]


def test_an_item_may_not_change_once_it_is_stored(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        store.content.add_items(items)
        with pytest.raises(DataError, match="'i2' is stored with another text"):
            store.content.add_items([replace(items[2], text="other")])


def test_a_question_has_one_answer_and_a_bad_batch_writes_nothing(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        fill(store, items)
        asked = questions(items)
        with pytest.raises(StoreError, match="already has the answer 'no', so the answer 'yes'"):
            store.content.add_answers(
                [Answer(asked[5], "ana", Verdict.NO, "t"), Answer(asked[0], "ana", Verdict.YES, "t")]
            )
        assert store.count_rows()["answer"] == 4


def test_replies_keep_their_order_and_may_come_twice_in_whatever_portions(
    url: str, items: list[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oversight.harness.store.replies.SORTED", 2)
    asked = [f"q{item.id}" for item in items[:5]]
    order = [asked[j] for j in (3, 1, 3, 0, 2, 1)]
    with Store(url) as store:
        store.content.add_items(items)
        store.content.add_questions(questions(items))
        assert store.content.replies.add_replies([(name, "ana", "no", "t", "") for name in order]) == 4
        assert list(store.content.replies.read_replies()) == [asked[j] for j in (3, 1, 0, 2)]
        again = [(asked[4], "ana", "no", "t", ""), (asked[4], "ana", "yes", "t", "")]
        for replies in (again, [again[0], (asked[0], "ana", "no", "t", ""), again[1]]):
            with pytest.raises(StoreError, match="already has the answer 'no', so the answer 'yes'"):
                store.content.replies.add_replies(replies)
        assert store.count_rows()["answer"] == 4


def test_foreign_keys_hold(url: str, items: list[Item]) -> None:
    with Store(url) as store, pytest.raises(StoreError, match="nothing was written"):
        store.content.add_questions(questions(items))


def test_a_new_database_has_exactly_the_tables_of_the_code(url: str) -> None:
    Store(url).close()
    engine = sa.create_engine(url)
    inspector = sa.inspect(engine)
    for table in METADATA.sorted_tables:
        columns = {c["name"]: c for c in inspector.get_columns(table.name)}
        assert set(columns) == {c.name for c in table.columns}
        assert {n for n, c in columns.items() if c["nullable"]} == {
            c.name for c in table.columns if c.nullable
        }
        assert len(inspector.get_foreign_keys(table.name)) == len(table.foreign_key_constraints)
        assert {
            i["name"] for i in inspector.get_indexes(table.name) if not i.get("duplicates_constraint")
        } == {i.name for i in table.indexes}
    engine.dispose()


def test_a_study_is_one_file_that_can_be_copied(tmp_path: Path, items: list[Item]) -> None:
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        fill(store, items)
    assert [path.name for path in tmp_path.iterdir()] == ["study.db"]
    shutil.copy(tmp_path / "study.db", tmp_path / "copy.db")
    with Store(f"sqlite:///{tmp_path / 'copy.db'}") as copy:
        assert copy.content.read_items() == items


def test_sqlite_writes_ahead_and_checks_foreign_keys(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path / 's.db'}") as database, database.transaction() as connection:
        assert connection.execute(sa.text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert connection.execute(sa.text("PRAGMA foreign_keys")).scalar_one() == 1


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    Store(f"sqlite:///{path}").close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="written by a newer version"):
        Store(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_other_databases_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="contains other tables"):
        Store(f"sqlite:///{path}")
    (tmp_path / "t.db").write_text("this is no database, but it is long enough to look like one" * 20)
    with pytest.raises(StoreError, match="not a database"):
        Store(f"sqlite:///{tmp_path / 't.db'}")
    with pytest.raises(StoreError, match="a study is stored in a file, or in a database at postgresql://"):
        Store("nonsense://")


def test_a_conflict_while_a_database_is_opened_names_the_database(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with sqlite3.connect(path) as connection:
        # This table of versions refuses every row, so that creating the tables fails.
        connection.execute("CREATE TABLE alembic_version (version_num TEXT CHECK (version_num = ''))")
    connection.close()
    with pytest.raises(
        StoreError, match=f"^{path}: the database cannot be used: table alembic_version already exists"
    ):
        Store(f"sqlite:///{path}")


def test_columns_that_items_lack_are_added_to_their_meta(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        store.content.add_items(replace(item, meta={"ward": "a"}) for item in items)
        store.content.add_items(replace(item, meta={"ward": "b", "shift": "day"}) for item in items)
        assert [item.meta for item in store.content.read_items()] == [{"ward": "a", "shift": "day"}] * 6


@pytest.mark.parametrize("outcome", [nullcontext(), pytest.raises(StoreError)])
def test_indices_made_late_are_there_in_the_end_whatever_happens(
    url: str, items: list[Item], outcome: AbstractContextManager[object]
) -> None:
    with Store(url) as store:
        store.content.add_items(items)
        engine = sa.create_engine(url)
        before = index_names(engine)
        is_good = isinstance(outcome, nullcontext)
        with outcome, store.together(exclusive=True), store.content.indexing_late():
            assert store.content.add_questions(questions(items)) == len(items)
            assert store.content.add_questions(questions(items)) == 0
            if not is_good:
                store.content.add_questions([replace(questions(items)[0], id="q", item_id="nowhere")])
        assert index_names(engine) == before
        assert store.content.count_questions() == (len(items) if is_good else 0)
        engine.dispose()


def index_names(engine: sa.Engine) -> set[str | None]:
    return {index["name"] for index in sa.inspect(engine).get_indexes("question")}
