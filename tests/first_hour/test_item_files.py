"""Items as people have them: benchmarks as published, wrong rows, files of Excel, other code pages."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oversight as ov
from oversight.harness.cli.main import main
from oversight.harness.llm import ReplyForm, read_reply

Oversight = Callable[..., Any]
HEADER = '[study]\nname = "t"\n[items]\n'
ROWS = [
    {"id": "a", "text": "One; two, three", "ward": "x"},
    {"id": "b", "text": 'A "quoted"\nline', "ward": "y"},
]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_mmlu_pro_loads_as_published(
    datasets: Path, tmp_path: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    file = datasets / "mmlu_pro_questions.parquet"
    study = tmp_path / "study.toml"
    study.write_text(f'{HEADER}file = "{file}"\nid = "question_id"\ntext = "question"\n')
    assert main(["items", "check", "--study", str(study)]) == 2
    told = capsys.readouterr().err
    for name in (2129, 2253, 5664, 5666, 6921):
        assert f"at least 2 options, but has 1, in the item '{name}'" in told
    assert "5 rows are wrong; skip_bad = true" in told
    study.write_text(study.read_text() + "skip_bad = true\n")
    found = oversight("items", "check", "--study", study)
    assert (found["items"], found["left_out"]) == (12_027, 5)
    with pytest.warns(UserWarning, match="5 rows left out"):
        items = ov.read_items(file, id="question_id", text="question", skip_bad=True)
    alike = [i for i in items if len({" ".join(o.casefold().split()) for o in i.options}) < len(i.options)]
    assert len(alike) == 17


@pytest.mark.parametrize("options", [("DD", "Dd", "dd"), ("a b", "a  b"), ("A", "a")])
def test_an_answer_names_the_option_it_is_to_the_letter(options: tuple[str, ...]) -> None:
    for place, option in enumerate(options):
        if options != ("A", "a"):  # with the options "A" and "a", a letter can name either option
            assert (
                read_reply(f'{{"answer": "{option}"}}', options, ReplyForm(notation="option")).option == place
            )


def test_options_that_differ_in_a_character_are_different(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "i.jsonl", [{"id": "g", "text": "t", "options": ["DD", "Dd", "d d", "d  d"]}]
    )
    assert ov.read_items(path)[0].options == ("DD", "Dd", "d d", "d  d")


def test_the_wrong_rows_of_a_file_are_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"id": f"i{j}", "text": "t", "options": ["x", "y"]} for j in range(60)]
    for j in range(10, 40):
        rows[j]["options"] = ["same", " same"]
    rows[50]["text"] = ""
    write_lines(tmp_path / "items.jsonl", rows)
    (tmp_path / "experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n')
    study = tmp_path / "study.toml"
    study.write_text(HEADER + 'file = "items.jsonl"\n')
    assert main(["label", "route", "--study", str(study)]) == 2
    told = capsys.readouterr().err
    for j in range(10, 30):
        assert f"items.jsonl:{j + 1} [options]: the option 'same' occurs twice, in the item 'i{j}'" in told
    assert "and 11 more wrong rows" in told
    assert "31 rows are wrong; skip_bad = true under [items] leaves such rows out" in told
    assert "'i30'" not in told
    assert not (tmp_path / "study.db").exists()


def test_wrong_rows_are_left_out_when_asked_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], oversight: Oversight
) -> None:
    lines = ['{"id": "a", "text": "t", "options": ["x", "y"]}', '{"id": "b", "text": "t"', "[1]"]
    lines += [
        '{"id": "c", "text": "t", "options": ["x", "x"]}',
        '{"id": "d", "text": "u", "options": ["p", "q"]}',
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n')
    study = tmp_path / "study.toml"
    study.write_text(HEADER + 'file = "items.jsonl"\n')
    study.write_text(HEADER + 'file = "items.jsonl"\nskip_bad = true\n')
    found = oversight("items", "check", "--study", study)
    assert (found["items"], found["left_out"]) == (2, 3)
    assert main(["label", "route", "--study", str(study)]) == 0
    captured = capsys.readouterr()
    assert "2 questions to 1 experts" in captured.out or "2 questions to 1 expert " in captured.out
    assert captured.err.count("3 wrong rows are left out") == 1
    assert "items.jsonl:4 [options]" in captured.err
    with pytest.warns(UserWarning, match="3 rows left out"):
        assert [item.id for item in ov.read_items(tmp_path / "items.jsonl", skip_bad=True)] == ["a", "d"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_tells_what_separates_columns(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "mine.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(ROWS[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(ROWS)
    items = ov.read_items(path, classes=("p", "q"), meta=("ward",))
    assert [(i.id, i.text, dict(i.meta)) for i in items] == [
        (row["id"], row["text"], {"ward": row["ward"]}) for row in ROWS
    ]


def test_a_header_in_quotes_does_not_mislead(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text('id;"text";"a,b,c,d"\n1;t;u\n')
    assert ov.read_items(path, classes=("p", "q"), meta=("a,b,c,d",))[0].meta == {"a,b,c,d": "u"}


def test_another_encoding_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes("id;text\n1;Müller\n".encode("cp1252"))
    with pytest.raises(ov.DataError, match=r'mine\.csv:2: not UTF-8, perhaps Windows-1252 .* "CSV UTF-8"'):
        ov.read_items(path, classes=("p", "q"))


def test_a_workbook_is_read_like_a_csv(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["id", "text", "ward", None])
    for number, row in enumerate(ROWS, start=1):
        book.active.append([number, row["text"], row["ward"]])
        book.active.append([None, None])
    book.create_sheet("empty")
    book.save(tmp_path / "mine.xlsx")
    items = ov.read_items(tmp_path / "mine.xlsx", classes=("p", "q"), meta=("ward",))
    assert [(i.id, i.text, i.meta["ward"]) for i in items] == [
        ("1", ROWS[0]["text"], "x"),
        ("2", ROWS[1]["text"], "y"),
    ]
    book["empty"].append(["something"])
    book.save(tmp_path / "mine.xlsx")
    with pytest.raises(ov.DataError, match="several sheets have content: 'Sheet', 'empty'"):
        ov.read_items(tmp_path / "mine.xlsx", classes=("p", "q"))
    (tmp_path / "bad.xlsx").write_bytes(b"no zip")
    with pytest.raises(ov.DataError, match="not a complete Excel workbook"):
        ov.read_items(tmp_path / "bad.xlsx", classes=("p", "q"))
