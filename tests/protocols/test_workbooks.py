"""Workbooks and other files that hospitals send."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oversight.harness import BadInput, DataError
from oversight.harness.datasets import BadRows, read_filled_portions, read_rows
from oversight.harness.types import Item
from oversight.protocols.collect import export_questions, read_answers, read_panel
from oversight.protocols.collect.spreadsheets.cells import guard
from oversight.protocols.routing import BalancedPanel
from tests.protocols.sheets import CLASSES, HARD, ask, fill, read_table, save


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(HARD, min_size=1, max_size=4))
def test_filled_workbooks_are_read(texts: list[str]) -> None:
    questions, items = ask(texts)
    with TemporaryDirectory() as name:
        path = export_questions(questions, items, (), name, "xlsx")[0]
        book = openpyxl.load_workbook(path)
        sheet: Any = book.active
        assert {cell.data_type for row in sheet.iter_rows(min_row=2, max_col=5) for cell in row} <= {
            "s",
            "n",
            "inlineStr",
        }
        for row in range(2, sheet.max_row + 1):
            sheet.cell(row, 6).value = (True, 1, "Ja")[row % 3]
        book.save(path)
        answers = read_answers([path], questions, items)
    assert {a.question.id for a in answers} == {q.id for q in questions}
    assert {a.verdict.value for a in answers} == {"yes"}


def test_workbook_is_protected_and_lists_the_answers(tmp_path: Path) -> None:
    questions, items = ask(["=1+1", "b"])
    path = export_questions(questions, items, (), tmp_path, "xlsx")[0]
    sheet: Any = openpyxl.load_workbook(path).active
    assert sheet.protection.sheet
    assert sheet.protection.password is None
    assert sheet.freeze_panes == "A2"
    open_to_all = {cell.coordinate for row in sheet.iter_rows() for cell in row if not cell.protection.locked}
    assert open_to_all == {"F2", "F3", "G2", "G3"}
    (rule,) = sheet.data_validations.dataValidation
    assert (rule.type, rule.formula1, str(rule.sqref)) == ("list", '"yes,no,unsure"', "F2:F3")
    texts = {sheet.cell(row, 3).value: sheet.cell(row, 3) for row in (2, 3)}
    assert texts["=1+1"].data_type == "s"
    assert texts["=1+1"].quotePrefix
    with pytest.raises(BadInput, match="may contain answers"):
        export_questions(questions, items, (), tmp_path, "xlsx")
    assert export_questions(questions, items, [questions[0].id], tmp_path / "b", "xlsx")
    long = {"i0": Item("i0", "x" * 40_000, CLASSES, (0, 1, 2))}
    with pytest.raises(DataError, match="40,000 characters"):
        export_questions(questions[:1], long, (), tmp_path / "c", "xlsx")
    assert not list((tmp_path / "c").iterdir())


def test_panel_labels_are_read_from_workbooks(tmp_path: Path) -> None:
    options = [("=a", "b, c"), ("1", "2", "3"), ("x", "y", "z")]
    items = [Item(f"i{j}", "t", own, tuple(range(len(own)))[::-1]) for j, own in enumerate(options)]
    made, by_id = BalancedPanel(("ana", "bo"), 2, seed=1).route(items), {i.id: i for i in items}
    for form in ("xlsx", "csv"):
        for path in export_questions(made, by_id, (), tmp_path / form, form):
            if form == "csv":
                rows = read_table(path)
                save(
                    path,
                    [
                        row | {"label": guard(row["options"].removeprefix("'").split(" | ")[-1].upper())}
                        for row in rows
                    ],
                )
                continue
            book: Any = openpyxl.load_workbook(path)
            sheet, lists = book["questions"], book["choices"]
            assert lists.sheet_state == "hidden"
            for rule in sheet.data_validations.dataValidation:
                cells = str(rule.sqref).replace("F", "").split(":")
                assert f"$A{cells[0]}:" in rule.formula1
            for row in range(2, 5):
                shown = [cell.value for cell in lists[row] if cell.value]
                assert " | ".join(shown) == sheet.cell(row, 5).value
                cell = sheet.cell(row, 6)
                cell.value = int(shown[-1]) if shown[-1].isdigit() else shown[-1]
                cell.data_type = "n" if shown[-1].isdigit() else "s"
            book.save(path)
        choices = read_panel(sorted((tmp_path / form).iterdir()), made, by_id)
        assert {(c.assignment.item_id, c.label) for c in choices} == {("i0", "=a"), ("i1", "1"), ("i2", "x")}
        assert len(choices) == 6
    skipped = BadRows()
    rows[0]["label"] = "nothing"
    assert read_panel([save(tmp_path / "bad.csv", rows)], made, by_id, skipped) == []
    assert skipped.number == 1


def test_cells_that_hold_no_value_are_refused(tmp_path: Path) -> None:
    questions, items = ask(["a", "b", "c"])
    path = export_questions(questions, items, (), tmp_path, "xlsx")[0]

    def refuse(change: Callable[[Any], object]) -> str:
        book = openpyxl.load_workbook(path)
        change(book["questions"])
        book.save(tmp_path / "sent.xlsx")
        with pytest.raises(DataError) as refused:
            read_answers([tmp_path / "sent.xlsx"], questions, items)
        assert refused.value.field == "answer"
        return str(refused.value)

    assert "F3 is a formula without a calculated value" in refuse(lambda sheet: sheet.cell(3, 6, "=TRUE()"))
    assert "the cells F2:F4 are merged" in refuse(lambda sheet: sheet.merge_cells("F2:F4"))


def test_tables_with_cells_that_hold_no_value_are_refused(tmp_path: Path) -> None:
    book, path = openpyxl.Workbook(), tmp_path / "predictions.xlsx"
    sheet: Any = book.active
    for row in (["id", "prediction"], ["a", "sour"], ["b", '=IF(B2="sour","","?")']):
        sheet.append(row)
    book.save(path)
    with pytest.raises(DataError, match=r"3 \[prediction\]: B3 is a formula without a calculated value"):
        list(read_rows(path))
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w") as packed:  # the formula's value is an empty text
        for name, part in parts.items():
            packed.writestr(name, part.replace(b'<c r="B3">', b'<c r="B3" t="str">'))
    assert [row.fields["prediction"] for row in read_rows(path)] == ["sour", ""]
    sheet["B3"] = None
    sheet.merge_cells("B2:B3")
    book.save(path)
    with pytest.raises(DataError, match="the cells B2:B3 are merged"):
        list(read_rows(path))


def test_workbooks_from_hospitals_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions, items = ask(["für Ärzte", "b", "c"])
    path = export_questions(questions, items, (), tmp_path)[0]
    # the byte order mark by which Excel recognises UTF-8
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    rows = fill(path, "nein", "schön")
    save(path, rows, "cp1252", ";")
    path.write_bytes(
        b"sep=;\r\n"
        + path.read_bytes()
        .replace(b"comment\r", b"comment;;\r")
        .replace("schön\r".encode("cp1252"), "schön;;\r".encode("cp1252"))
        + b";;;;;;;;\r\n\r\n"
    )
    answers = read_answers([path], questions, items)
    assert [(a.verdict.value, a.comment) for a in answers] == [("no", "schön")] * 3
    one = tmp_path / "one_cell.csv"
    one.write_text("".join(f'"{line}"\n' for line in ["question_id,expert,answer", "q-1,ana,yes"]))
    with pytest.raises(DataError, match="all columns are in one cell"):
        read_answers([one], questions, items)
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append([*row.values(), None, None])
    book.create_sheet("notes").append(["call me"])
    book.save(tmp_path / "extra.xlsx")
    assert len(read_answers([tmp_path / "extra.xlsx"], questions, items)) == 3
    assert "extra.xlsx: only the sheet 'Sheet' is read, not 'notes'" in capsys.readouterr().err
    sheet.insert_rows(1)
    sheet["A1"] = "Questions for Ana"
    sheet.merge_cells("A1:G1")
    book.remove(book["notes"])
    book.save(tmp_path / "title.xlsx")
    with pytest.raises(DataError, match="there is no such column"):
        read_answers([tmp_path / "title.xlsx"], questions, items)
    damaged = tmp_path / "damaged.csv"
    damaged.write_bytes("question_id,expert,answer,comment\n1,ä,yes,\n2,".encode() + b"\xff,yes,\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_answers([damaged], questions, items)


def test_workbook_that_unpacks_to_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xlsx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("xl/sharedStrings.xml", "w") as part,
    ):
        for _ in range(60):
            part.write(b"<si><t>a</t></si>" * 61_000)
    assert path.stat().st_size < 2**20
    with pytest.raises(DataError, match=r"unpacks to .* save it as CSV"):
        next(iter(read_filled_portions(path, ["question_id"])))


def test_text_too_long_for_a_cell_leaves_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text(f"id,text\ni0,short\ni1,{'long ' * 8_000}\n")
    Path("study.toml").write_text('[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["a", "b"]\n')
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{name}"\nclasses = ["{name}"]\n' for name in ("a", "b"))
    )
    oversight("label", "route")
    oversight("label", "export", "--format", "xlsx", code=2)
    assert not list(Path().rglob("*.xlsx"))
