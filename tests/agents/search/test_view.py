"""The data of a search's page: a thousand candidates, hostile texts, broken archives."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from matplotlib import pyplot

from oversight.agents.search import open_search, report_search
from oversight.agents.search.view.candidate import compare_sources, read_candidate
from oversight.agents.search.view.exported import read_exported_parts
from oversight.agents.search.view.listed_searches import read_searches
from oversight.harness import BadInput, StoreError
from oversight.harness.config import Study
from oversight.harness.report import search_text
from oversight.harness.store import Store
from oversight.harness.types import Candidate, Program
from tests.agents.made_search import HOSTILE, SEARCH, SPLITS, make_search, source_of

# Run these tests in one process, because building a search of 1,000 candidates is slow.
pytestmark = [pytest.mark.xdist_group("thousand"), pytest.mark.slow]


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return make_search(tmp_path_factory.mktemp("thousand"), 1000)


def read(study: Study, function: Any, **params: str) -> dict[str, Any]:
    with Store(study.store_url) as store:
        found: dict[str, Any] = function(study, store, **params)
    json.dumps(found, allow_nan=False)
    return found


def number_of(rows: list[dict[str, Any]], name: str) -> int:
    return next(j for j, row in enumerate(rows) if row["id"] == name)


def test_a_thousand_candidates_are_read_at_once_and_stay_small(thousand: Study) -> None:
    started = time.process_time()
    found = read(thousand, read_searches)
    assert time.process_time() - started < 10  # about 1 s on an idle machine
    assert len(found["search"]["rows"]) == 1000
    assert len(json.dumps(found)) < 700_000
    assert "async def forward" not in json.dumps(found)
    assert found["search"]["missing"] == []
    assert found["searches"] == [
        {
            "id": SEARCH,
            "created": found["search"]["created"],
            "policy": "recombine",
            "proposals": 997,
            "planned": 996,
            "candidates": 1000,
            "winner": Program("", source_of(0)).id,
            "winner_name": "c0",
        }
    ]


def test_the_numbers_are_those_of_the_report(thousand: Study) -> None:
    found = read(thousand, read_searches)["search"]
    with Store(thousand.store_url) as store:
        report = report_search(thousand, store, open_search(thousand, store, None))
    assert report.winner is not None
    assert report.winner.test is not None
    assert found["headline"]["key"] == "test"
    assert (found["headline"]["value"], found["headline"]["low"], found["headline"]["high"]) == (
        report.winner.test.clipped,
        report.winner.test.low,
        report.winner.test.high,
    )
    assert [other["key"] for other in found["others"]] == [
        "reported", "start", "difference", "confirmed", "naive",
    ]  # fmt: skip
    assert found["others"][0]["value"] == report.winner.reported
    assert all(len(other["words"]) > 40 for other in found["others"])
    for row, candidate in zip(found["rows"], report.candidates, strict=True):
        assert (row["id"], row["on_front"], row["raced_out"]) == (
            candidate.id,
            candidate.on_front,
            candidate.raced_out,
        )
        assert candidate.standing is not None
        assert row["standing"]["mean"] == candidate.standing.mean
        assert row["standing"]["verdict"] == candidate.standing.verdict
    assert found["power"] == list(report.power)
    assert found["spent"] == report.spent


def test_accuracies_that_cannot_be_told_say_why(tmp_path: Path) -> None:
    study = make_search(tmp_path, 6)
    first = sum(SPLITS.values()) - SPLITS["test"]
    with closing(sqlite3.connect(tmp_path / "study.db")) as edited, edited:
        edited.execute("DELETE FROM answer WHERE CAST(substr(question_id, 2) AS INTEGER) >= ?", (first,))
    with Store(study.store_url) as store:
        report = report_search(study, store, open_search(study, store, None))
    assert report.winner is not None
    assert (report.winner.test, report.winner.start_test) == (None, None)
    assert report.winner.untested
    assert f"test, accuracies: not known: {report.winner.untested}" in search_text(report)
    found = read(study, read_searches)["search"]
    told = {number["key"]: number.get("said") for number in found["others"]}
    assert told["untested"] == f"not known: {report.winner.untested}"
    assert found["headline"]["key"] == "reported"


def test_a_report_prints_its_winner_first_and_draws_every_candidate(tmp_path: Path) -> None:
    study = make_search(tmp_path, 12)
    with Store(study.store_url) as store:
        report = report_search(study, store, open_search(study, store, None))
    assert report.winner is not None
    assert repr(report).startswith(f"winner: {report.winner.name} [{report.winner.id}]: ")
    frame = report.to_frame()
    assert frame.loc[frame["winner"], "id"].item() == report.winner.id
    assert report.winner.name in report._repr_html_()
    axes = report.plot()
    scored = [c for c in report.candidates if c.standing is not None]
    assert len(axes.get_lines()) >= 2 * len(scored)
    assert f"winner: {report.winner.name}" in axes.texts[0].get_text() + axes.texts[-1].get_text()
    pyplot.close("all")


def test_candidate_shows_its_source_compared_with_its_parents(thousand: Study) -> None:
    rows = read(thousand, read_searches)["search"]["rows"]
    found = read(thousand, read_candidate, id=rows[500]["id"])
    assert found["parents"][0]["id"] == rows[500]["parents"][0]
    kinds = [line["kind"] for line in found["lines"]]
    assert (kinds.count("removed"), kinds.count("added")) == (1, 1)
    assert {"kind": "added", "text": 'INSTRUCTION = "Answer 500."'} in found["lines"]
    for kind, j in (("removed", 500), ("added", number_of(rows, found["parent"]))):
        assert "\n".join(x["text"] for x in found["lines"] if x["kind"] != kind) == source_of(j).strip()
    root = read(thousand, read_candidate, id=rows[0]["id"])
    assert {line["kind"] for line in root["lines"]} == {"same"}
    assert root["won"]


def test_the_items_of_a_candidate_are_paged_by_place(thousand: Study) -> None:
    winner = read(thousand, read_searches)["search"]["winner"]
    seen, after = list[dict[str, Any]](), ""
    while True:
        page = read(thousand, read_candidate, id=winner, after=after)["items"]
        assert len(page["rows"]) <= 50
        seen += page["rows"]
        if page["next"] is None:
            break
        after = page["next"]
    assert [row["id"] for row in seen] == [f"i{i}" for i in range(260)]
    assert page["in_all"] == 260
    for outcome in ("refuted", "unreadable"):
        only = read(thousand, read_candidate, id=winner, only=outcome)["items"]["rows"]
        assert only == [row for row in seen if row["outcome"] == outcome][:50]
        assert only
    for row in seen:
        told = {(said["option"], said["verdict"]) for said in row["experts"]}
        if row["outcome"] == "refuted":
            assert (row["option"], "no") in told or any(verdict == "yes" for _, verdict in told)
        if row["outcome"] == "confirmed":
            assert (row["option"], "yes") in told


def test_items_that_no_decision_may_see_are_kept_back_until_there_is_a_winner(tmp_path: Path) -> None:
    study = make_search(tmp_path, 6, winner=False)
    first = Program("", source_of(0)).id
    found = read(study, read_candidate, id=first)
    assert {row["split"] for row in found["items"]["rows"]} <= {"feedback", "select"}
    assert found["items"]["in_all"] == 140
    assert found["hidden"] == ["confirm", "test"]
    behind = read(study, read_candidate, id=first, after="139")["items"]
    assert behind == {"rows": [], "next": None, "in_all": 140}
    headline = read(study, read_searches)["search"]["headline"]
    assert (headline["key"], headline["name"]) == ("leading", "leading so far")


def test_hostile_texts_arrive_as_the_texts_they_are(tmp_path: Path) -> None:
    study = make_search(tmp_path, 6, hostile=True)
    found = read(study, read_searches)["search"]
    assert all(HOSTILE in row["name"] and HOSTILE in row["note"] for row in found["rows"])
    assert HOSTILE in found["refused"][0]
    with Store(study.store_url) as store:
        program = Program(HOSTILE, f"# {HOSTILE}\n" + source_of(0), HOSTILE)
        store.searches.add_candidate(SEARCH, Candidate(program, 9, "x", (found["rows"][0]["id"],), HOSTILE))
    candidate = read(study, read_candidate, id=program.id)
    assert candidate["thought"] == candidate["note"] == HOSTILE
    assert {"kind": "added", "text": f"# {HOSTILE}"} in candidate["lines"]
    assert candidate["items"]["rows"] == []


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("delete from candidate_answer", ""),
        ("update search_event set data = '{\"candidate\": \"gone\"}' where key = 'winner'", "the winner"),
        ("update search_item set item_id = 'gone' where item_id = 'i30'", "the search"),
        ("update search_event set data = '{\"tokens\": \"many\"}' where key = 'slot/1'", "tokens"),
        ("update search set spec = '{}'", "the search"),
        ("update search set spec = 'null'", "the search"),
        ("update search_event set data = '[1]' where key = 'winner'", "the winner"),
    ],
)
def test_a_part_that_cannot_be_computed_gives_a_reason(tmp_path: Path, statement: str, part: str) -> None:
    study = make_search(tmp_path, 6)
    engine = sa.create_engine(study.store_url)
    with engine.begin() as connection:
        connection.execute(sa.text("pragma foreign_keys = off"))
        if "candidate_answer" in statement:
            connection.execute(sa.text("delete from search_event where key = 'winner'"))
        connection.execute(sa.text(statement))
    engine.dispose()
    found = read(study, read_searches)
    assert [missing["part"] for missing in found["search"]["missing"]] == ([part] if part else [])
    assert all(missing["why"] for missing in found["search"]["missing"])
    if not part:
        assert found["search"]["headline"] is None
        assert all(row["standing"] is None for row in found["search"]["rows"])


@pytest.mark.parametrize("option", [99, -3])
def test_an_answer_that_an_item_does_not_have_is_told(option: int, tmp_path: Path) -> None:
    study = make_search(tmp_path, 6)
    with sa.create_engine(study.store_url).begin() as connection:
        connection.execute(sa.text("update candidate_answer set option = :o"), {"o": option})
    with pytest.raises(StoreError, match=f"is option {option}, but the item has only"):
        read(study, read_candidate, id=Program("", source_of(0)).id)


def test_a_search_is_read_from_either_database(url: str, tmp_path: Path) -> None:
    study = make_search(tmp_path, 8, hostile=True, store=url)
    found = read(study, read_searches)
    assert (found["searches"][0]["candidates"], found["searches"][0]["proposals"]) == (8, 5)
    assert found["search"]["missing"] == []
    candidate = read(study, read_candidate, id=found["search"]["winner"])
    assert candidate["items"]["in_all"] == 260
    assert [row["split"] for row in candidate["answers"]] == ["feedback", "select", "confirm", "test"]


def test_a_file_that_would_be_too_large_holds_the_best_candidates(tmp_path: Path) -> None:
    study = make_search(tmp_path, 8)
    with Store(study.store_url) as store:
        whole = dict(read_exported_parts(study, store))
        size = len(json.dumps(whole))
        part = dict(read_exported_parts(study, store, most_bytes=size // 3))
    held = [name for name in part if name.startswith("candidate?")]
    assert whole["search"]["search"]["held"] == 8
    assert 0 < part["search"]["search"]["held"] == len(held) < 8
    best = max(part["search"]["search"]["rows"], key=lambda row: row["standing"]["mean"])
    assert f"candidate?id={best['id']}&search={SEARCH}" in held


def test_a_file_holds_of_each_candidate_what_its_page_says(tmp_path: Path) -> None:
    study = make_search(tmp_path, 12)
    with Store(study.store_url) as store:
        held = dict(read_exported_parts(study, store))
        for row in held["search"]["search"]["rows"]:
            kept = held[f"candidate?id={row['id']}&search={SEARCH}"]
            for item in kept["items"]["rows"]:
                item.pop("is_kept", None)
            assert kept == read_candidate(study, store, id=row["id"], search=SEARCH)


def test_missing_names_are_named(tmp_path: Path) -> None:
    study = make_search(tmp_path, 5)
    for function, params, words in (
        (read_searches, {"id": "x"}, "there is no search 'x'"),
        (read_candidate, {"id": "x"}, "has no candidate 'x'"),
        (read_candidate, {"id": "x", "search": "y"}, "there is no search 'y'"),
        (read_candidate, {"id": Program("", source_of(0)).id, "after": "-1"}, "after: must be a position"),
        (read_candidate, {"id": "x", "only": "all"}, "only: must be one of"),
    ):
        with pytest.raises(BadInput, match=words):
            read(study, function, **params)


def test_a_study_without_searches_has_an_empty_page(tmp_path: Path) -> None:
    study = make_search(tmp_path, 5)
    (tmp_path / "study.db").unlink()
    assert read(study, read_searches) == {"searches": [], "search": None}


def test_long_sources_that_repeat_themselves_are_compared_at_once() -> None:
    old, new = "x = 1\n" * 5000, "x = 1\n" * 2500 + "y = 2\n" * 2500
    lines = compare_sources(old, new)
    assert "\n".join(line["text"] for line in lines if line["kind"] != "removed") == new.strip()
