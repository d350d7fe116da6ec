"""Options whose texts are letters, such as blood groups: a text wins where texts are given or requested."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.config import RunSpec
from oversight.harness.llm import ReplyForm, read_reply, reply_form_of

Oversight = Callable[..., Any]
Import = Callable[[Sequence[Sequence[str]], str, Sequence[str]], list[str | None]]


@pytest.fixture
def read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Import:
    """Import one answer per item into a new study, and return the texts of the options that were read."""
    monkeypatch.chdir(tmp_path)

    def import_answers(
        options: Sequence[Sequence[str]], column: str, answers: Sequence[str]
    ) -> list[str | None]:
        items = [{"id": f"i{j}", "text": f"item {j}", "options": each} for j, each in enumerate(options)]
        Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
        Path("study.toml").write_text('[study]\nname = "t"\n[items]\nfile = "items.jsonl"\n')
        rows = [{"id": f"i{j}", column: said} for j, said in enumerate(answers)]
        Path("p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        oversight("predictions", "import", "p.jsonl", "--model", "m")
        oversight("predictions", "export", "rows.jsonl")
        found = map(json.loads, Path("rows.jsonl").read_text().splitlines())
        return [row["option_text"] for row in found]

    return import_answers


@pytest.mark.parametrize("classes", ["O,A,B,AB", "b,a", "B,C,D", "C,B,A", "N,A,V,L"])
def test_exact_classes_in_a_table_are_read_as_themselves(
    classes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    names = classes.split(",")
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},item {j}\n" for j in range(12)))
    Path("p.csv").write_text(
        "id,prediction\n" + "".join(f"i{j},{names[j % len(names)]}\n" for j in range(12))
    )
    oversight("init", "--items", "items.csv", "--classes", classes, ".")
    assert oversight("predictions", "import", "p.csv", "--model", "m")["ok"] == 12
    oversight("predictions", "export", "rows.jsonl")
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert {row["item_id"]: row["option_text"] for row in rows} == {
        f"i{j}": names[j % len(names)] for j in range(12)
    }


def test_exact_texts_of_shuffled_options_are_read_as_themselves(read_back: Import) -> None:
    orders = [["A", "B", "AB", "O"], ["B", "O", "A", "AB"], ["O", "AB", "B", "A"], ["AB", "A", "O", "B"]]
    options = [order for order in orders for _ in order]
    answers = [text for order in orders for text in order]
    assert read_back(options, "prediction", answers) == answers


def test_letter_of_a_place_is_not_read_among_options_that_are_letters(read_back: Import) -> None:
    assert read_back([["O", "A", "B", "AB"], ["heart", "lung"]], "prediction", ["D", "B"]) == [None, "lung"]


def test_reply_of_an_unknown_prompt_stays_unreadable_if_letter_and_text_conflict(read_back: Import) -> None:
    groups = ["O", "A", "B", "AB"]
    assert read_back([groups] * 3, "raw", ["ANSWER: A", "ANSWER: AB", "ANSWER: O"]) == [None, "AB", "O"]


@pytest.mark.parametrize(
    ("template", "answer", "read"),
    [
        ("$text $names", "line", "A"),
        ("$text $options\nANSWER: one of the letters $letters", "line", "O"),
        ("$text $options", "line", None),
        ("$text $options", "choice", "O"),
    ],
)
def test_prompt_decides_if_a_reply_names_a_letter_or_a_text(
    template: str, answer: str, read: str | None
) -> None:
    groups = ("O", "A", "B", "AB")
    spec = RunSpec.model_validate(
        {
            "name": "m",
            "model": "m",
            "endpoint": "http://x",
            "temperature": None,
            "max_tokens": None,
            "stop": (),
            "template": template,
            "max_words": None,
            "answer": answer,
            "choice": "regex" if answer == "choice" else "",
        }
    )
    found = read_reply("ANSWER: A" if answer == "line" else "A", groups, reply_form_of(spec)).option
    assert (None if found is None else groups[found]) == read


def test_letter_is_not_read_where_texts_that_are_letters_were_requested() -> None:
    assert read_reply("ANSWER: A", ("B", "C", "D"), ReplyForm("line", "option")).option is None
