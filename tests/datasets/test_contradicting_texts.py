"""Texts of a log that are not those of the items with the same ids."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

Oversight = Callable[..., Any]
ITEMS = {
    "1": "Does the note mention fever?",
    "2": "Is the patient older than 60?",
    "3": "A woman of 34 has had a cough for 3 weeks and lost 5 kg. She smokes ten cigarettes a day. "
    "Is it asthma?",
    "4": "Ist das Röntgenbild auffällig?",
    "5": "この薬は効きますか",
}


@pytest.fixture
def begin(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Mapping[str, str]], None]:
    """Make a study of items with the classes Yes and No."""

    def do(items: Mapping[str, str]) -> None:
        monkeypatch.chdir(tmp_path)
        with Path("items.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([("id", "text"), *items.items()])
        oversight("init", "--items", "items.csv", "--classes", "Yes,No")

    return do


def write(texts: Mapping[str, str], column: str = "text") -> None:
    rows = [{"id": name, column: text, "prediction": "Yes"} for name, text in texts.items()]
    Path("log.jsonl").write_text("\n".join(map(json.dumps, rows)))


def refuse(oversight: Oversight) -> str:
    """The error of an import that is refused and stores nothing."""
    error = str(oversight("predictions", "import", "log.jsonl", "--model", "m", code=2)["error"])
    assert "no model was run yet" in oversight("predictions", "export", "out.csv", code=2)["error"]
    return error


LONG = ITEMS["3"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("1", "does the note mention  FEVER"),
        ("1", "Question: Does the note mention fever?\nAnswer with Yes or No."),
        ("1", "Q: Is snow hot? A: No\n\nQ: Does the note mention fever? A:"),
        ("1", "<p>Does the <b>note</b> mention&nbsp;fever?</p>\n(A) Yes\n(B) No"),
        ("1", "Does the note mention fevre?"),
        ("1", "Does the note men…"),
        ("1", r"Does the \textbf{note} mention fever? \\ A) Yes B) No"),
        ("1", '[{"role": "user", "content": "Does the note mention fever?"}]'),
        ("1", "user: Hello\n\nassistant: Hello\n\nuser: **Does the note mention fever?**"),
        ("2", "Is the patient\nolder than\u00a060?"),
        ("3", LONG[:60] + "…"),
        ("3", LONG[:63]),
        ("3", "Is it asthma?"),
        ("3", LONG.replace("cough", "bad cough").replace("ten", "10")),
        ("3", LONG.replace("Is it asthma?", "What do you think it is, doctor?")),
        ("4", "Ist das Ro\u0308ntgenbild auffa\u0308llig?"),
        ("5", "質問：この薬は効きますか？ はい・いいえ"),
    ],
)
def test_reworded_question_is_not_a_contradiction(
    name: str, text: str, begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(ITEMS)
    write({name: text})
    done = oversight("predictions", "import", "log.jsonl", "--model", "m")
    assert (done["ok"], done["texts_checked"], done["texts_unchecked"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("1", "Is water wet?"),
        ("1", ITEMS["2"]),
        ("1", f"Answer with Yes or No. {ITEMS['2']}"),
        ("2", "Is the patient older than 80?"),
        ("2", "Is the patient older than 601?"),
        ("3", "A man of 70 has had pain in his chest for 2 hours. He takes aspirin. Is it a heart attack?"),
        ("4", "Ist der Patient nüchtern?"),
        ("5", "この子は熱がありますか"),
    ],
)
def test_another_question_under_an_id_is_refused(
    name: str, text: str, begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(ITEMS)
    write({name: text})
    error = refuse(oversight)
    assert "log.jsonl: 1 of 1 compared texts" in error
    assert f"line 1, id '{name}': the item is {ITEMS[name][:20]!r}"[:-1] in error


NEAR = {
    str(j): f"Does the note mention {what}?" for j, what in enumerate(("fever", "a cough", "pain", "a rash"))
}
TEMPLATE = {
    str(j): f"Is the review below positive? Answer with one word and nothing else. Review: {what}"
    for j, what in enumerate(("Great film.", "A waste of time.", "I slept.", "The best book of all."))
}


@pytest.mark.parametrize("items", [NEAR, TEMPLATE], ids=("near", "template"))
@pytest.mark.parametrize("wrap", ["{}", "Please think first.\n{}\nYour answer:"])
def test_texts_that_belong_one_row_further_are_refused(
    items: dict[str, str], wrap: str, begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(items)
    texts = [*items.values()]
    write(
        {name: wrap.format(text) for name, text in zip(items, [*texts[1:], texts[0]], strict=True)},
        "question",
    )
    error = refuse(oversight)
    assert "4 of 4 compared texts" in error
    assert [f"line {j}, id" in error for j in (1, 2, 3, 4)] == [True, True, True, False]


def test_other_reviews_in_the_same_template_are_refused(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(TEMPLATE)
    write({name: text.replace("Review: ", "Review: Some words. ")[:-8] for name, text in TEMPLATE.items()})
    assert "compared texts differ from their" in refuse(oversight)


def test_few_contradictions_are_refused_with_advice(begin: Callable[..., None], oversight: Oversight) -> None:
    items = {
        str(j): f"Is finding {j} of the scan normal for a patient aged {20 + j % 50}?" for j in range(300)
    }
    begin(items)
    write({**items, "7": "Was ist das?", "9": "Who knows?"})
    error = refuse(oversight)
    assert "2 of 300 compared texts" in error
    assert "import a table with only the columns id and prediction" in error


def test_answers_to_other_questions_with_other_options_show_their_texts(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(ITEMS)
    sample = {"id": 1, "epoch": 1, "input": "Which is wet?", "choices": ["fire", "water"]}
    Path("log.jsonl").write_text(json.dumps({"status": "success", "samples": [sample]}))
    Path("log.jsonl").rename("log.json")
    error = oversight("predictions", "import", "log.json", "--format", "inspect", "--model", "m", code=2)[
        "error"
    ]
    assert "the log says 'Which is wet?'" in error


@pytest.mark.parametrize(("name", "code"), [("1", 0), ("2", 2)])
def test_question_may_be_in_a_system_message(
    name: str, code: int, begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(ITEMS)
    given = [
        {"role": "system", "content": f"Answer this. {ITEMS['1']}"},
        {"role": "user", "content": "Go on."},
    ]
    sample = {"id": name, "epoch": 1, "input": given, "output": {"completion": "Yes"}}
    Path("log.json").write_text(json.dumps({"status": "success", "samples": [sample]}))
    found = oversight("predictions", "import", "log.json", "--format", "inspect", "--model", "m", code=code)
    assert found["texts_checked"] == 1 if code == 0 else "differ from their items' texts" in found["error"]


def test_rows_without_a_known_id_are_still_found_by_their_text(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(ITEMS)
    write({f"row {name}": text.upper() for name, text in [*ITEMS.items()][:2]})
    assert oversight("predictions", "import", "log.jsonl", "--model", "m")["items"] == 2


@pytest.mark.parametrize("ids", ["xyz", "1yz", "y1z"])
def test_rows_with_the_text_of_one_item_are_counted(
    ids: str, begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(ITEMS)
    write(dict.fromkeys(ids, ITEMS["1"]))
    done = oversight("predictions", "import", "log.jsonl", "--model", "m")
    assert (done["items"], done["left_out"]) == (1, {"earlier answer to an item with the same text": 2})


TWINS = {"1": "Which is right?", "2": "Which is right?", "3": "Which is  RIGHT?"}


def test_text_of_several_items_is_refused_by_their_ids(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(TWINS)
    write({"x": TWINS["3"], "y": TWINS["1"]})
    told = oversight("predictions", "import", "log.jsonl", "--model", "m", code=2)["error"]
    assert "log.jsonl:2 [text]: 2 items have this text ('1', '2'); name the item by its id" in told
    write({"y": TWINS["1"].upper()})
    told = oversight("predictions", "import", "log.jsonl", "--model", "m", code=2)["error"]
    assert "3 items have this text" in told


def test_exact_text_takes_precedence_over_another_case_and_spaces(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin({"2": TWINS["2"], "3": TWINS["3"]})
    write({"x": TWINS["2"]})
    oversight("predictions", "import", "log.jsonl", "--model", "m")
    oversight("predictions", "export", "rows.jsonl")
    assert json.loads(Path("rows.jsonl").read_text())["item_id"] == "2"


def test_options_in_a_log_choose_among_items_with_one_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {"1": ["red", "blue"], "2": ["ice", "fire"]}
    items = [{"id": name, "text": TWINS["1"], "options": each} for name, each in options.items()]
    Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    Path("study.toml").write_text('[study]\nname = "t"\n[items]\nfile = "items.jsonl"\n')
    sample = {"id": "x", "epoch": 1, "input": TWINS["1"], "choices": options["1"]}
    sample["output"] = {"completion": "ANSWER: B"}
    sample["scores"] = {"choice": {"answer": "B"}}
    Path("log.json").write_text(json.dumps({"status": "success", "samples": [sample]}))
    oversight("predictions", "import", "log.json", "--format", "inspect", "--model", "m")
    oversight("predictions", "export", "rows.jsonl")
    found = json.loads(Path("rows.jsonl").read_text())
    assert (found["item_id"], found["option_text"]) == ("1", "blue")


@pytest.mark.parametrize("text", ["Is the patient in bed 7?", "Is the patient in bed 71?"])
def test_number_distinguishes_short_questions(
    text: str, begin: Callable[..., None], oversight: Oversight
) -> None:
    begin({"1": "Is the patient in bed 3?"})
    write({"1": text})
    assert "compared texts" in refuse(oversight)


def test_a_text_without_words_counts_as_not_checked(begin: Callable[..., None], oversight: Oversight) -> None:
    begin(ITEMS)
    write({"1": ITEMS["1"], "2": "???", "3": ""})
    done = oversight("predictions", "import", "log.jsonl", "--model", "m")
    assert (done["texts_checked"], done["texts_unchecked"]) == (1, 2)


@pytest.mark.parametrize("columns", [("question", "text"), ("text",)])
def test_question_column_takes_precedence_over_text(
    columns: Sequence[str], begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(ITEMS)
    with Path("log.csv").open("w", newline="") as stream:
        given = [ITEMS["1"], "I think so, yes."][: len(columns)]
        csv.writer(stream).writerows([("id", *columns, "prediction"), ("1", *given, "Yes")])
    done = oversight("predictions", "import", "log.csv", "--model", "m")
    assert (done["ok"], done["texts_checked"]) == (1, 1)
