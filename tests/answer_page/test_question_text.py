"""The question in the experts' language: the same on the page, on Label Studio and in files, and frozen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.protocols.collect.answer_page.answer_desk import AnswerDesk
from oversight.protocols.collect.label_studio.labelling_page import TaskSheet
from tests.answer_page.conftest import draw, lay_out
from tests.protocols.sheets import read_table, save

Oversight = Callable[..., Any]
GERMAN = "Ist „$option“ für 5 $$ die Antwort?"
ASKED = "Ist „heart“ für 5 $ die Antwort?"


def set_text(folder: Path, text: str) -> Path:
    """Write the setting into the section of experts, which a study without panel does not have."""
    path = folder / "study.toml"
    head = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("question_text"))
    head = head if "[experts]" in head else head.replace("[label_studio]", "[experts]\n[label_studio]", 1)
    path.write_text(head.replace("[experts]\n", f"[experts]\nquestion_text = {text!r}\n", 1))
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
def test_question_text_is_the_same_on_every_channel(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    draw(tmp_path)
    study = read_study(set_text(tmp_path, GERMAN))
    with Store(study.store_url) as store:
        on_page = {q["question"] for q in AnswerDesk(study, store).tell_state("ana")["questions"]}
        asked = next(q for q in store.content.read_questions() if q.expert == "ana")
        items = {item.id: item for item in store.content.read_items()}
        on_server = TaskSheet.of(study).data(asked, items[asked.item_id])["question"]
    assert on_page == {ASKED} == {on_server}
    file = next(f for f in oversight("label", "export", "--format", form)["files"] if "ana" in f)
    if form == "csv":
        rows = read_table(Path(file))
        assert {row["question"] for row in rows} == {ASKED}
        save(Path(file), [row | {"answer": "ja"} for row in rows])
    elif form == "jsonl":
        text = Path(file).read_text(encoding="utf-8")
        assert text.count(ASKED) == 6
        Path(file).write_text(text.replace('"answer": ""', '"answer": "ja"'), encoding="utf-8")
    else:
        book = openpyxl.load_workbook(file)
        for row in book["questions"].iter_rows(min_row=2):
            assert row[4].value == ASKED
            row[5].value = "ja"
        book.save(file)
    assert oversight("label", "import", file) == {"answers": 6, "new": 6}


def test_files_with_other_words_are_refused_and_the_freeze_tells_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path)
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"i{j},note {j}\n" for j in range(12)))
    set_text(tmp_path, GERMAN)
    oversight("label", "route")
    file = Path(oversight("label", "export")["files"][0])
    save(file, [row | {"answer": "yes"} for row in read_table(file)])
    set_text(tmp_path, "Heißt es $option?")
    refused = oversight("label", "import", file, code=2)["error"]
    assert f"{file.name}:2 [question]: differs from the question" in refused
    findings = oversight("store", "verify", code=1)["findings"]
    assert any("setting experts.question_text" in str(found) for found in findings)


@pytest.mark.parametrize(
    ("panel", "text", "message"),
    [
        (
            False,
            "Ist das die Antwort?",
            "must have the field $option and no other, is 'Ist das die Antwort?'",
        ),
        (False, "Ist $text $option?", "must have the field $option and no other"),
        (False, "Kostet $option 5 $?", "a $ does not begin a field; write $$ for a dollar sign"),
        (True, "Ist es $option?", "must have no field"),
        (True, " ", "must have no field"),
    ],
)
def test_a_question_without_its_field_is_refused(
    *,
    panel: bool,
    text: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
) -> None:
    monkeypatch.chdir(tmp_path)
    draw(tmp_path, panel=panel)
    set_text(tmp_path, text)
    refused = oversight("label", "status", code=2)["error"]
    assert refused.startswith("study.toml:")
    assert "[experts]: question_text: " in refused
    assert message in refused


def test_a_panel_is_asked_about_all_options(tmp_path: Path) -> None:
    draw(tmp_path, panel=True)
    study = read_study(set_text(tmp_path, "Welche ist die Antwort?"))
    with Store(study.store_url) as store:
        told = AnswerDesk(study, store).tell_state("ana")["questions"][0]
        asked, item = store.panel.read_assignments()[0], store.content.read_items()[0]
    sent = TaskSheet.of(study).data(asked, item)
    assert told["question"] == "Welche ist die Antwort?" == sent["question"]


@pytest.mark.parametrize("panel", [False, True])
def test_a_workbook_says_how_to_answer_and_this_sheet_is_not_read(
    *, panel: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    draw(tmp_path, panel=panel)
    file = next(f for f in oversight("label", "export", "--format", "xlsx")["files"] if "ana" in f)
    book: Any = openpyxl.load_workbook(file)
    assert book.active.title == "questions"
    sheet, column = book["instructions"], "label" if panel else "answer"
    said = [cell.value for (cell,) in sheet.iter_rows()]
    assert said[:3] == ["Read the note.", "Would you treat <i>this</i> patient?", "heart: Heart & vessels"]
    assert said[3].startswith(f"Answer in the column “{column}” of the sheet “questions”.")
    assert ("If you cannot tell, pick “unsure”" in said[-1]) != panel
    assert sheet.protection.sheet
    assert all(cell.protection.locked for (cell,) in sheet.iter_rows())
    names = [cell.value for cell in book["questions"][1]]
    place = names.index(column) + 1
    for row in range(2, book["questions"].max_row + 1):
        book["questions"].cell(row, place).value = "heart" if panel else "no"
    for at, name in enumerate(names, start=1):
        sheet.cell(1, at).value = name
    sheet.cell(2, place).value = "brain" if panel else "yes"
    book.save(file)
    given = 12 if panel else 6
    assert oversight("label", "import", file) == {"answers": given, "new": given}


def test_a_workbook_without_the_column_of_answers_is_named_by_this_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    draw(tmp_path)
    file = oversight("label", "export", "--format", "xlsx")["files"][0]
    book: Any = openpyxl.load_workbook(file)
    book["questions"]["F1"] = "said"
    book.save(file)
    refused = oversight("label", "import", file, code=2)["error"]
    assert "[answer]: there is no such column" in refused
