"""Spreadsheets there and back: as every program saves them, guarded, edited, wrong in many rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oversight.harness import BadInput, DataError
from oversight.harness.config import Study, read_study
from oversight.harness.output import unguard_cell
from oversight.harness.store import Store
from oversight.harness.store.tables.study_tables import QUESTION_KEY
from oversight.protocols.collect import export_questions, make_words, read_answers
from oversight.protocols.collect.spreadsheets.cells import escape, guard, read_id, unescape
from oversight.protocols.study_labels import export_open, import_answers, route_questions
from tests.protocols.sheets import HARD, ask, fill, save
from tests.test_studies import call, inside

NUMBERS = ("1234567890123456", "12345678e9012345", "0000000000000012", "1e10000000000000")
MANGLED = ("1.23457E+15", "#######", "12", "1E+10")


@given(HARD)
def test_unguarding_a_cell_reverses_guarding(text: str) -> None:
    assert unguard_cell(guard(text)) == text.replace("\r\n", "\n").replace("\r", "\n")
    assert guard(text)[:1] not in ("=", "+", "-", "@", "\t", "\r")
    assert guard(guard(text)) == guard(text) or guard(text).startswith("'")
    assert unguard_cell(text) == text or text.startswith("'")
    if "\ufffd" not in escape(text):
        assert unescape(escape(text)) == text.replace("\r\n", "\n").replace("\r", "\n")


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(HARD, min_size=1, max_size=4),
    note=HARD,
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]),
    separator=st.sampled_from([",", ";", "\t"]),
    end=st.sampled_from(["\n", "\r\n"]),
    header=st.sampled_from([str.upper, str.title, lambda name: f" {name.replace('_', ' ')} ", str]),
)
def test_files_saved_by_spreadsheet_programs_are_read(
    texts: list[str], note: str, encoding: str, separator: str, end: str, header: Any
) -> None:
    questions, items = ask(texts)
    with TemporaryDirectory() as name:
        path = export_questions(questions, items, (), name)[0]
        rows = [
            {header(column): text for column, text in row.items()} for row in fill(path, " Oui ", guard(note))
        ]
        answers = read_answers([save(path, rows, encoding, separator, end)], questions, items)
    assert [a.question.id for a in answers] == [read_id(next(iter(row.values())), "q-") for row in rows]
    assert {(a.verdict.value, a.comment, a.expert) for a in answers} == {
        ("yes", note.replace("\r\n", "\n").replace("\r", "\n"), "=ana")
    }


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_ids_that_look_like_numbers_are_kept(tmp_path: Path, form: str) -> None:
    questions, items = ask(["a", "b", "c", "d"], list(NUMBERS))
    path = export_questions(questions, items, (), tmp_path, form)[0]
    if form == "csv":
        rows = fill(path)
        assert all(not row["question_id"][0].isdigit() for row in rows)
        old = save(tmp_path / "old.csv", [row | {"question_id": row["question_id"][2:]} for row in rows])
        assert len(read_answers([save(path, rows), old], questions, items)) == 4
        for wrong in MANGLED:
            save(path, [rows[0] | {"question_id": wrong}])
            with pytest.raises(DataError, match=r"\[question_id\]: the question .* was never asked"):
                read_answers([path], questions, items)
        save(path, [rows[0] | {"question_id": "1.23457E+15"}])
        with pytest.raises(DataError, match="changed it to a number: export the questions again"):
            read_answers([path], questions, items)


@pytest.mark.parametrize("column", ["text", "options", "question"])
def test_an_edited_text_is_refused(tmp_path: Path, column: str) -> None:
    questions, items = ask(["one  text\r\nand more", "=two", "three"])
    path = export_questions(questions, items, (), tmp_path)[0]
    rows = fill(path)
    spaced = [
        row | {column: row[column].replace(" ", "\u00a0 ").replace("\n", "\r\n") + "  "} for row in rows
    ]
    assert len(read_answers([save(path, spaced)], questions, items)) == 3
    rows[1][column] = rows[1][column] + "s"
    with pytest.raises(DataError, match="may belong to another question") as refused:
        read_answers([save(path, rows, end="\n")], questions, items)
    assert refused.value.field == column
    shifted = [row | {column: other[column]} for row, other in zip(rows, [*rows[1:], rows[0]], strict=True)]
    with pytest.raises(DataError, match="may belong to another question"):
        read_answers([save(path, shifted)], questions, items)
    bare = [{name: row[name] for name in ("answer", "expert", "question_id")} for row in rows]
    assert len(read_answers([save(path, bare)], questions, items)) == 3


def test_words_of_other_languages_are_read() -> None:
    words = make_words(["Tak", "0"], ["nie"], ["?"])
    assert [words.read_verdict(x) for x in ("tak", " NIE", "?", "0", "Sí", "na\u0303o", "WAHR", "", "x")] == [
        "yes", "no", "unsure", "yes", "yes", "no", "yes", "", None,
    ]  # fmt: skip
    refused: tuple[tuple[list[str], ...], ...] = ((["a"], ["A "]), (["no"],), ([], [], [" "]))
    for wrong in refused:
        with pytest.raises(BadInput, match=r"cannot mean both|is empty"):
            make_words(*wrong)


def lay_out(folder: Path, items: int = 60, protocol: str = "") -> Study:
    (folder / "study.toml").write_text(
        f'[study]\nname = "s"\n[items]\nfile = "items.csv"\nclasses = ["red", "blue"]\n{protocol}'
    )
    (folder / "experts.toml").write_text(
        "".join(
            f'[[expert]]\nname = "{name}"\nclasses = ["*"]\n' for name in ("ana", "bo")[: 1 + bool(protocol)]
        )
    )
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(items)))
    return read_study(folder / "study.toml")


def stored(study: Study) -> int:
    with Store(study.store_url) as store:
        return store.count_rows()["answer"]


def test_all_bad_rows_are_reported_together_or_left_out(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    path = export_open(study, tmp_path / "out")[0][0]
    rows = fill(path)
    for row in rows[5:40]:
        row["answer"] = "perhaps"
    rows[50]["text"] += "!"
    rows.append(rows[0] | {"answer": "no"})
    rows.append(rows[1])
    save(path, rows)
    with inside(tmp_path):
        code, _, err = call(["label", "import", "out/questions-ana.csv"])
        assert (code, stored(study)) == (2, 0)
        assert err.count("must be yes, no, unsure or skip, is 'perhaps'") == 20
        assert "and 17 more wrong rows" in err
        assert "37 rows are wrong; --skip-bad leaves such rows out" in err
        assert err.count("known words: yes: ") == 1
        code, out, err = call(["label", "import", "out/questions-ana.csv", "--skip-bad", "--json"])
        told = json.loads(out)
        assert (code, told["answers"], told["new"], told["skipped"]) == (0, 23, 23, 37), err
        assert len(told["wrong"]) == 20
        assert stored(study) == 23  # of two answers to one question, neither is stored
        code, out, err = call(
            ["label", "import", "out/questions-ana.csv", "--skip-bad", "--word", "Perhaps=unsure"]
        )
        assert (code, stored(study)) == (0, 58), err
        assert "2 wrong rows left out" in out
        assert call(["label", "import", "out/questions-ana.csv", "--word", "a=yes", "--word", "a=no"])[0] == 2


def test_changed_comments_of_stored_answers_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    path = export_open(study, tmp_path / "out")[0][0]
    rows = [row | {"comment": "first"} for row in fill(path)]
    assert import_answers(study, [save(path, rows)])[0]
    capsys.readouterr()
    assert import_answers(study, [path])[1] == 0
    assert not capsys.readouterr().err
    rows[3]["comment"] = "second"
    assert import_answers(study, [save(path, rows)])[1] == 0
    assert (
        "1 comment differs from earlier comments; only the earlier comments are kept"
        in capsys.readouterr().err
    )


def test_many_items_have_a_check_in_place_of_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oversight.harness.analysis.inputs.MANY", 50)
    study = lay_out(tmp_path)
    route_questions(study)
    path = export_open(study, tmp_path / "out")[0][0]
    rows = fill(path)
    assert {len(row["question_id"]) for row in rows} == {27}
    other = rows[3]["text"]
    edited = save(tmp_path / "edited.csv", [*rows[:3], rows[3] | {"text": "other"}, *rows[4:]])
    with pytest.raises(DataError, match="differs from the question: 'other'"):
        import_answers(study, [edited])
    moved = tmp_path / "moved"
    shutil.copytree(tmp_path, moved, ignore=shutil.ignore_patterns("study.db*", "out"))
    source = moved / "items.csv"
    source.write_text(source.read_text().replace(other, "reworded"))
    again = read_study(moved / "study.toml")
    with Store(study.store_url) as one, Store(again.store_url) as two:
        two.write_rows(QUESTION_KEY.insert(), [{"id": 0, "secret": one.controls.read_key()}])
    route_questions(again)
    with pytest.raises(
        DataError, match=f"differs from the question: '{other}', but the question had 'reworded'"
    ):
        import_answers(again, [save(path, rows)])
    assert import_answers(study, [path]) == (60, 60)
    assert import_answers(study, [save(path, list(reversed(rows)))]) == (60, 0)


@pytest.mark.parametrize("name", ["sent.csv", "sent.jsonl"])
def test_comments_without_an_answer_are_reported(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    first, second, *rows = fill(export_open(study, tmp_path / "out")[0][0])
    rows = [first | {"answer": "", "comment": "yes"}, second | {"answer": " ", "comment": " "}, *rows]
    path = tmp_path / name
    if name == "sent.csv":
        save(path, rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert import_answers(study, [path])[0] == len(rows) - 2
    assert "1 comment has no answer in the same row, and cannot be kept" in capsys.readouterr().err


def test_withdrawn_answers_that_return_with_an_older_file_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    path = export_open(study, tmp_path / "out")[0][0]
    rows = fill(path)
    older, newer = save(tmp_path / "older.csv", rows), tmp_path / "newer.csv"
    assert import_answers(study, [older])[1] == len(rows)
    save(newer, [rows[0] | {"answer": "withdraw"}])
    assert import_answers(study, [newer], changes=True) == (1, 1)
    capsys.readouterr()
    assert import_answers(study, [older]) == (len(rows), 1)
    told = "1 new answer to questions whose earlier answer was withdrawn; if the file is older, withdraw"
    assert told in capsys.readouterr().err
    assert import_answers(study, [older])[1] == 0
    assert not capsys.readouterr().err
