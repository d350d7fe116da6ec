"""Whole studies written a portion at a time: all or nothing, twice the same, two at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from oversight.harness import ConfigError, DataError, derive_seed
from oversight.harness.analysis import import_predictions
from oversight.harness.analysis.inputs import store_items
from oversight.harness.config import Study, read_study
from oversight.harness.datasets import BadRows
from oversight.harness.store import Store
from oversight.harness.types import Item, PredictionStatus
from oversight.protocols.collect import measure_progress
from oversight.protocols.routing import Expert, Partitioned, Roster
from oversight.protocols.study_labels import import_answers, route_questions
from tests.datasets.foreign_answers import read_foreign, to_predictions
from tests.test_studies import call, copied, inside

N = 1203
"""More than two portions."""


def lay_out(folder: Path, *, seed: int = 0, last: str = "") -> Study:
    (folder / "study.toml").write_text(
        f'[study]\nname = "s"\nseed = {seed}\n[items]\nfile = "items.jsonl"\n', encoding="utf-8"
    )
    (folder / "experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n', encoding="utf-8")
    rows = [{"id": f"i{j}", "text": f"t {j}", "options": [f"a{j}", f"b{j}", f"c{j}"]} for j in range(N)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + last)
    return read_study(folder / "study.toml")


def count(study: Study) -> dict[str, int]:
    with Store(study.store_url) as store:
        return store.count_rows()


def write_answers(study: Study, change: Callable[[list[str]], list[str]]) -> Path:
    with Store(study.store_url) as store:
        lines = [f"{q.id},ana,no" for q in store.content.read_questions()]
    path = study.path("answers.csv")
    path.write_text("question_id,expert,answer\n" + "\n".join(change(lines)) + "\n")
    return path


def test_a_bad_last_item_leaves_nothing_behind(tmp_path: Path) -> None:
    study = lay_out(tmp_path, last='{"id": "i5", "text": "t", "options": ["x", "y"]}\n')
    with pytest.raises(DataError, match="'i5' was used in line 6") as refused:
        route_questions(study)
    assert refused.value.line == N + 1
    assert set(count(study).values()) == {0}


def test_a_bad_last_answer_leaves_nothing_behind(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    cases = {
        "second answer 'yes'": lambda lines: [*lines, lines[0].replace(",no", ",yes")],
        "never asked": lambda lines: [*lines, "0123,ana,no"],
        "not to 'bea'": lambda lines: [*lines[:-1], lines[-1].replace("ana", "bea")],
        "header has 3 columns": lambda lines: [*lines, "x"],
    }
    for told, change in cases.items():
        path = write_answers(study, change)
        with pytest.raises(DataError, match=told) as refused:
            import_answers(study, [path])
        assert refused.value.line == len(path.read_text().splitlines())
        assert count(study)["answer"] == 0


def test_the_first_fault_is_reported_first(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    path = write_answers(study, lambda lines: [lines[0], "0123,ana,no", *lines[1:50], "x"])
    with pytest.raises(DataError, match="never asked") as refused:
        import_answers(study, [path])
    assert refused.value.line == 3


def test_answers_read_twice_are_there_once(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    path = write_answers(study, lambda lines: lines[:1000] + lines[:3])
    assert import_answers(study, [path]) == (1000, 1000)
    assert import_answers(study, [path, path]) == (1000, 0)
    other = write_answers(study, lambda lines: [*lines[1000:], lines[999].replace(",no", ",unsure")])
    with pytest.raises(DataError, match=r"\[answer\]: is 'unsure', but 'no' is already stored") as refused:
        import_answers(study, [other])
    assert (refused.value.file, refused.value.field) == (str(other), "answer")
    assert count(study)["answer"] == 1000
    skipped = BadRows()
    assert import_answers(study, [other], skipped=skipped) == (N - 1000, N - 1000)
    assert skipped.number == 1


def test_a_second_draw_is_refused_wherever_it_differs(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    assert route_questions(study).new == N
    assert route_questions(study).new == 0
    with pytest.raises(ConfigError, match="questions were drawn before"):
        route_questions(lay_out(tmp_path, seed=1))
    with Store(study.store_url) as store, store.transaction() as connection:
        connection.exec_driver_sql("UPDATE question SET propensity = 0.5 WHERE item_id = 'i1200'")
    with pytest.raises(ConfigError, match=r"propensity 0\.5"):
        route_questions(lay_out(tmp_path))


def test_a_study_goes_through_every_database(tmp_path: Path, url: str) -> None:
    lay_out(tmp_path)
    settings = tmp_path / "study.toml"
    settings.write_text(settings.read_text().replace("seed = 0", f"seed = 0\nstore = '{url}'"))
    study = read_study(settings)
    assert [route_questions(study).new for _ in range(2)] == [N, 0]
    path = write_answers(study, lambda lines: lines[:700])
    assert [import_answers(study, [path]) for _ in range(2)] == [(700, 700), (700, 0)]
    log = tmp_path / "log.csv"
    log.write_text(
        "id,prediction,error\n" + "".join(f"i{j},b{j},\n" if j % 3 else f"i{j},,down\n" for j in range(N))
    )
    found = import_predictions(study, str(log), "m")
    assert (found.by_status[PredictionStatus.OK], found.by_status[PredictionStatus.FAILED]) == (802, 401)
    with Store(study.store_url) as store:
        assert measure_progress(study, store)["ana"].answered == 700
        assert store.count_asked(panel=False) == {"ana": N}
        assert store.runs.count_reasons(found.run) == [("failed", "import: down", 401)]
        assert next(store.runs.find_unasked(found.run, ["i0", "i1"], 2)) == [("i0", 1), ("i1", 1)]


def test_concurrent_draws_give_the_same_questions(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(route_questions, [study, study]))
    assert sorted(routed.new for routed in done) == [0, N]
    with Store(study.store_url) as store:
        assert [item.id for item in store.content.read_items()] == [f"i{j}" for j in range(N)]
        assert store.columns.read_index().size == N


def test_a_stranger_in_the_last_line_of_a_log_leaves_nothing_behind(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    log = tmp_path / "log.csv"
    rows = [f"i{j},b{j}" for j in range(N)]
    log.write_text("\n".join(["id,prediction", *rows, "nobody,b1"]) + "\n")
    with pytest.raises(DataError, match="no item of the study has the id 'nobody'") as refused:
        import_predictions(study, str(log), "m")
    assert refused.value.line == N + 2
    assert set(count(study).values()) == {0}
    log.write_text("\n".join(["id,prediction", *rows[:-1]]) + "\n")
    for _ in range(2):
        found = import_predictions(study, str(log), "m")
        assert (found.answers, found.items, found.missing) == (N - 1, N - 1, 1)
    assert count(study) == {"item": N, "question": 0, "answer": 0, "run": 1, "prediction": N - 1}


def test_answers_are_read_by_columns_as_they_are_one_by_one(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    classes = '"items.jsonl"\nclasses = ["a", "b", "c"]'
    settings = tmp_path / "study.toml"
    settings.write_text(settings.read_text().replace('"items.jsonl"', classes))
    study = read_study(settings)
    said = ["b", "C", "", "nothing", " a ", "B"]
    lines = [f"i{j},{said[j % 6]},{'I say c.' if j % 4 else ''},0.5" for j in range(N)]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["id,prediction,raw,confidence", *lines]))
    found = import_predictions(study, str(log), "m")
    with Store(study.store_url) as store:
        stored, items = store.runs.read_predictions(found.run), store.content.read_items()
        assert stored == to_predictions(read_foreign(log, "table"), items, log)
        assert store.runs.count_statuses(found.run) == found.by_status
    log.write_text("id,text,prediction\ni0,,a\n,t 1,b\n,T  1,c\n")
    found = import_predictions(study, str(log), "two of one item")
    assert (found.answers, found.items, found.by_status[PredictionStatus.OK]) == (3, 2, 2)


def test_items_that_left_the_file_have_no_answers_in_a_log(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    path = tmp_path / "items.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    (tmp_path / "log.csv").write_text(f"id,prediction\ni0,a0\ni{N - 1},a{N - 1}\n")
    with pytest.raises(DataError, match=f"no item of the study has the id 'i{N - 1}'"):
        import_predictions(study, str(tmp_path / "log.csv"), "m")


@pytest.mark.parametrize("m", [1, 2])
def test_each_draw_has_a_separate_generator(m: int) -> None:
    people = tuple(Expert(f"e{j}", ("*",)) for j in range(3))
    items = [Item(f"i{j}", "t", tuple("abcdefg"[: 2 + j % 6]), tuple(range(2 + j % 6))) for j in range(N)]
    drawn = iter(Partitioned(Roster(people), 5, m).route(items))
    for item in items:
        generator = np.random.default_rng(derive_seed(5, item.id))
        for option in generator.choice(len(item.options), size=m, replace=False):
            question = next(drawn)
            expert = people[int(generator.integers(3))].name
            assert (question.item_id, question.option, question.expert) == (item.id, option, expert)
    assert next(drawn, None) is None


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oversight.harness.analysis.inputs.MANY", N)


@pytest.mark.usefixtures("few_are_many")
def test_items_that_were_stored_whole_are_not_read_again(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    with Store(study.store_url) as store, mock.patch.object(store.content, "add_items") as add_items:
        assert store_items(study, store) == [f"i{j}" for j in range(N)]
        assert not add_items.called


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("change", ["a line more", "another text", "another seed", "a smaller limit"])
def test_a_source_that_changed_is_read_again(tmp_path: Path, change: str) -> None:
    study = lay_out(tmp_path)
    with Store(study.store_url) as store:
        store_items(study, store)
        path, settings = tmp_path / "items.jsonl", tmp_path / "study.toml"
        more = '{"id": "x", "text": "t", "options": ["a", "b"]}\n' if change == "a line more" else ""
        text = path.read_text().replace("t 1202", "t 1203" if change == "another text" else "t 1202")
        path.write_text(text + more)
        seed, limit = (
            ("1" if change == "another seed" else "0"),
            ("limit = 9\n" * (change == "a smaller limit")),
        )
        settings.write_text(settings.read_text().replace("seed = 0", f"seed = {seed}") + limit)
        study = read_study(settings)
        if change == "another text":
            with pytest.raises(DataError, match="'i1202' is stored with another text"):
                store_items(study, store)
        else:
            with mock.patch.object(store.content, "add_items", wraps=store.content.add_items) as add_items:
                assert len(store_items(study, store)) == {"a line more": N + 1, "another seed": N}.get(
                    change, 9
                )
                assert add_items.called


def test_models_that_agree_by_now_are_asked_nothing_more(tmp_path: Path) -> None:
    """The draw is empty, and the questions drawn before stay."""
    folder = copied("disagreement", tmp_path)
    with inside(folder):
        assert call(["predictions", "import", "good.csv", "--model", "fair"])[0] == 0
        code, out, err = call(["label", "route", "--json"])
        assert (code, json.loads(out)["new"]) == (0, 0), err
