"""Documents of many tasks of lm-evaluation-harness, as its samples hold them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import DataError
from oversight.harness.types import ForeignAnswer
from tests.datasets.foreign_answers import read_foreign

Oversight = Callable[..., Any]


def score(document: dict[str, Any], said: Sequence[str], best: int, prompts: Any = "") -> dict[str, Any]:
    """A sample of a multiple-choice task whose continuation at place `best` is the likeliest."""
    prompts = [prompts] * len(said) if isinstance(prompts, str) else prompts
    scores = [[str(-0.5 if j == best else -3.0 - j), "False"] for j in range(len(said))]
    requests = {f"gen_args_{j}": {"arg_0": prompts[j], "arg_1": f" {text}"} for j, text in enumerate(said)}
    return {
        "doc_id": 0,
        "doc": document,
        "target": "0",
        "arguments": requests,
        "resps": [[pair] for pair in scores],
        "filtered_resps": scores,
        "filter": "none",
    }


def generate(document: dict[str, Any], reply: str, said: str, **fields: Any) -> dict[str, Any]:
    """A sample of a generating task."""
    requests = {"gen_args_0": {"arg_0": "…", "arg_1": {"until": ["\n"]}}}
    found = {"doc_id": 0, "doc": document, "target": "A", "arguments": requests}
    return {**found, "resps": [[reply]], "filtered_resps": [said], "filter": "strict", **fields}


def read(tmp_path: Path, *samples: object) -> list[ForeignAnswer]:
    path = tmp_path / "samples_t_2025.jsonl"
    path.write_text("\n".join(map(json.dumps, samples)))
    return read_foreign(path, "lm-eval")


TASTES = ("sour", "sweet", "salty", "bitter")
PASSAGE = "Lemons grow on trees and hold much citric acid."
MOVED = "Lemons are?\nA. bitter\nB. salty\nC. sweet\nD. sour\nAnswer:"
CASES: dict[str, tuple[dict[str, Any], str, tuple[str, ...], int]] = {
    "letters of choices in the prompt's order": (
        score({"question": "Lemons are?", "choices": TASTES, "answer": 0}, "ABCD", 3, MOVED),
        "Lemons are?",
        TASTES[::-1],
        3,
    ),
    "a letter generated in the prompt's order": (
        generate(
            {"question": "Lemons are?", "choices": TASTES},
            "(B)",
            "B",
            arguments={"gen_args_0": {"arg_0": MOVED, "arg_1": {}}},
        ),
        "Lemons are?",
        TASTES[::-1],
        1,
    ),
    "mmlu": (
        score({"question": "Lemons are?", "choices": TASTES, "answer": 0}, "ABCD", 2),
        "Lemons are?",
        TASTES,
        2,
    ),
    "letters in brackets": (
        score(
            {"Question": "Lemons are?", **{f"choice{j + 1}": t for j, t in enumerate(TASTES)}},
            ["(A)", "(B)", "(C)", "(D)"],
            3,
        ),
        "Lemons are?",
        TASTES,
        3,
    ),
    "a field an option": (
        score(
            {
                "question": "Lemons are?",
                "option_a": "sour",
                "option_b": "sweet",
                "option_c": "salty",
                "option_d": "bitter",
                "answer": "A",
            },
            "ABCD",
            1,
        ),
        "Lemons are?",
        TASTES,
        1,
    ),
    "medmcqa": (
        score(
            {
                "question": "Lemons are?",
                "cop": 0,
                "opa": "sour",
                "opb": "sweet",
                "opc": "salty",
                "opd": "bitter",
            },
            "ABCD",
            1,
        ),
        "Lemons are?",
        TASTES,
        1,
    ),
    "medqa": (
        score(
            {
                "sent1": "Lemons are?",
                "sent2": "",
                "ending0": "sour",
                "ending1": "sweet",
                "ending2": "salty",
                "ending3": "bitter",
            },
            "ABCD",
            1,
        ),
        "Lemons are?",
        TASTES,
        1,
    ),
    "belebele": (
        score(
            {
                "flores_passage": PASSAGE,
                "question": "Lemons are?",
                **{f"mc_answer{j + 1}": t for j, t in enumerate(TASTES)},
            },
            "ABCD",
            0,
            f"P: {PASSAGE}\nQ: …",
        ),
        f"{PASSAGE}\n\nLemons are?",
        TASTES,
        0,
    ),
    "a list in a text": (
        score(
            {"narrative": PASSAGE, "question": "Who did it?", "choices": "['Ann', 'Bob']"},
            ["Ann", "Bob"],
            1,
            PASSAGE,
        ),
        f"{PASSAGE}\n\nWho did it?",
        ("Ann", "Bob"),
        1,
    ),
    "arc": (
        score(
            {
                "question": "Lemons are?",
                "answerKey": "1",
                "choices": {"text": TASTES, "label": ["1", "2", "3", "4"]},
            },
            TASTES,
            2,
        ),
        "Lemons are?",
        TASTES,
        2,
    ),
    "arc by label": (
        score(
            {"question": "Lemons are?", "choices": {"text": TASTES, "label": ["1", "2", "3", "4"]}},
            ["1", "2", "3", "4"],
            2,
        ),
        "Lemons are?",
        TASTES,
        2,
    ),
    "openbookqa": (
        score({"question_stem": "Lemons are", "choices": {"text": TASTES, "label": list("ABCD")}}, TASTES, 3),
        "Lemons are",
        TASTES,
        3,
    ),
    "options under letters": (
        score({"question": "Lemons are?", "options": {"B": "sweet", "A": "sour"}}, "AB", 0),
        "Lemons are?",
        ("sour", "sweet"),
        0,
    ),
    "options with keys": (
        score(
            {
                "question": "Lemons are?",
                "options": [{"key": "A", "value": "sour"}, {"key": "B", "value": "sweet"}],
            },
            "AB",
            1,
        ),
        "Lemons are?",
        ("sour", "sweet"),
        1,
    ),
    "letters in another order": (
        score({"question": "Lemons are?", "choices": ["sour", "sweet"]}, "BA", 0),
        "Lemons are?",
        ("sour", "sweet"),
        1,
    ),
    "options that are letters": (
        score({"question": "Which comes last?", "choices": ["C", "A", "B"]}, "ABC", 0),
        "Which comes last?",
        ("C", "A", "B"),
        0,
    ),
    "labels in the place of options": (
        score(
            {"question": "Lemons are?", "choices": ["A", "B"], "option_a": "sour", "option_b": "sweet"},
            "AB",
            1,
        ),
        "Lemons are?",
        ("sour", "sweet"),
        1,
    ),
    "labels in the place of texts": (
        score({"question": "Lemons are?", "choices": ["A", "B"]}, ["a sour taste", "a bit sweet"], 1),
        "Lemons are?",
        ("a sour taste", "a bit sweet"),
        1,
    ),
    "nothing but letters": (
        score({"question": "Which vitamin is in lemons?", "choices": ["A", "B", "C"]}, "ABC", 2),
        "Which vitamin is in lemons?",
        ("A", "B", "C"),
        2,
    ),
    "options that are numbers": (
        score({"question": "2 + 2 =", "choices": ["4", "1", "2", "3"]}, ["4", "1", "2", "3"], 2),
        "2 + 2 =",
        ("4", "1", "2", "3"),
        2,
    ),
    "Arabic letters": (
        score({"question": "Lemons are?", "choices": ["sour", "sweet"]}, ["أ", "ب"], 1),
        "Lemons are?",
        ("sour", "sweet"),
        1,
    ),
    "truthfulqa": (
        score(
            {
                "question": "Lemons are?",
                "mc1_targets": {"choices": TASTES[:2], "labels": [1, 0]},
                "mc2_targets": {"choices": TASTES[:3], "labels": [1, 0, 0]},
            },
            TASTES[:3],
            2,
        ),
        "Lemons are?",
        TASTES[:3],
        2,
    ),
    "hellaswag": (
        score(
            {
                "ctx": "He",
                "activity_label": "Fruit",
                "query": "Fruit: He bites a lemon and",
                "endings": ["[x] winces", "sings"],
                "choices": ["winces", "sings"],
            },
            ["winces", "sings"],
            0,
        ),
        "Fruit: He bites a lemon and",
        ("winces", "sings"),
        0,
    ),
    "winogrande": (
        score(
            {
                "sentence": "Ann thanked Eve because _ had helped.",
                "option1": "Ann",
                "option2": "Eve",
                "answer": "2",
            },
            ["had helped.", "had helped."],
            1,
            ["Ann thanked Eve because Ann", "Ann thanked Eve because Eve"],
        ),
        "Ann thanked Eve because _ had helped.",
        ("Ann", "Eve"),
        1,
    ),
    "piqa": (
        score(
            {"goal": "Open a jar.", "sol1": "Twist the lid.", "sol2": "Freeze it."},
            ["Twist the lid.", "Freeze it."],
            0,
        ),
        "Open a jar.",
        ("Twist the lid.", "Freeze it."),
        0,
    ),
    "pubmedqa": (
        score(
            {"QUESTION": "Do lemons help?", "CONTEXTS": ["Ten men ate lemons.", "They did well."]},
            ["yes", "no", "maybe"],
            2,
            "Abstract: Ten men ate lemons.\nThey did well.\nQuestion: …",
        ),
        "Ten men ate lemons.\nThey did well.\n\nDo lemons help?",
        ("yes", "no", "maybe"),
        2,
    ),
    "boolq": (
        score(
            {"passage": PASSAGE, "question": "are lemons sour", "label": 1}, ["no", "yes"], 1, f"{PASSAGE}\n…"
        ),
        f"{PASSAGE}\n\nare lemons sour",
        ("no", "yes"),
        1,
    ),
    "sciq": (
        score(
            {
                "support": PASSAGE,
                "question": "Lemons hold?",
                "distractor1": "salt",
                "correct_answer": "acid",
                "distractor2": "soda",
                "distractor3": "lime",
            },
            ["salt", "soda", "lime", "acid"],
            3,
            PASSAGE,
        ),
        f"{PASSAGE}\n\nLemons hold?",
        ("salt", "soda", "lime", "acid"),
        3,
    ),
    "bbh": (
        score(
            {"input": "Who won?\nOptions:\n(A) Ann\n(B) Bob\n(C) Cid", "target": "(B)"},
            ["(A)", "(B)", "(C)"],
            1,
        ),
        "Who won?\nOptions:\n(A) Ann\n(B) Bob\n(C) Cid",
        ("Ann", "Bob", "Cid"),
        1,
    ),
    "mutual information": (
        score(
            {"question": "Lemons are?", "choices": ["sour", "sweet"]},
            ["sour", "sweet"] * 2,
            1,
            ["Q", "Q", "", ""],
        ),
        "Lemons are?",
        ("sour", "sweet"),
        1,
    ),
    "mmlu_pro": (
        generate({"question": "Lemons are?", "options": TASTES}, "So the answer is (C).", "C"),
        "Lemons are?",
        TASTES,
        2,
    ),
    "generated digits of labels": (
        generate(
            {"question": "Lemons are?", "choices": {"text": TASTES, "label": ["1", "2", "3", "4"]}}, "3", "3"
        ),
        "Lemons are?",
        TASTES,
        2,
    ),
    "generated letters of letters": (
        generate({"question": "Which?", "options": ["B", "A"]}, "A", "A"),
        "Which?",
        ("B", "A"),
        0,
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_a_document_gives_question_options_and_answer(name: str, tmp_path: Path) -> None:
    sample, text, options, place = CASES[name]
    (answer,) = read(tmp_path, sample)
    assert (answer.text, answer.options, answer.answer, answer.gap) == (text, tuple(options), place, "")


def test_older_files_with_one_json_list_are_read(tmp_path: Path) -> None:
    sample = score({"question": "Lemons are?", "choices": list(TASTES)}, "ABCD", 2)
    sample["arguments"] = [list(request.values()) for request in sample["arguments"].values()]
    sample["filtered_resps"] = [[float(number), False] for number, _ in sample["filtered_resps"]]
    path = tmp_path / "samples_t.jsonl"
    path.write_text(json.dumps([sample], indent=2))
    (answer,) = read_foreign(path, "lm-eval")
    assert (answer.options, answer.answer) == (TASTES, 2)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (
            score({"query": "Lemons are?", "gold": 0}, "ABCD", 1),
            r"\[doc\]: the continuations are \['A', 'B', 'C', 'D'\], and doc",
        ),
        (score({"question": "?", "x": 1}, ["same", "same"], 1), r"its fields are question, x; write a table"),
        (score({"text": "The end is"}, ["near"], 0), r"\[arguments\]: there is only one continuation"),
    ],
)
def test_a_form_that_cannot_be_read_is_named(sample: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, sample)


def test_left_out_samples_are_counted(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    document = {"question": "Lemons are?", "options": list(TASTES)}
    samples = [
        generate(document, "A", "A", resps=[["A", "B", "A"]]),
        generate(document, "A", "A", filter="flexible"),
        generate({**document, "question": "Salt is?"}, "The answer is C", "[invalid]", doc_id=1),
    ]
    Path("samples_t.jsonl").write_text("\n".join(map(json.dumps, samples)))
    left_out = {"further reply to a request": 2, "answer of the filter 'flexible'": 1}
    written = oversight("predictions", "items", "samples_t.jsonl")
    assert (written["items"], written["left_out"]) == (2, left_out)
    oversight("init", "--items", "items.jsonl")
    done = oversight("predictions", "import", "samples_t.jsonl", "--model", "m")
    assert (done["answers"], done["ok"], done["left_out"], done["texts_checked"]) == (2, 2, left_out, 2)


def test_a_document_without_a_known_question_is_named(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("samples_t.jsonl").write_text(json.dumps(score({"riddle": "Lemons are?"}, ["sour", "sweet"], 0)))
    error = oversight("predictions", "items", "samples_t.jsonl", code=2)["error"]
    assert "doc has no known field with the question; its fields are riddle; write a table" in error
    assert not Path("items.jsonl").exists()


def test_options_are_found_by_place_where_the_items_have_letters(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    item = {"id": "0", "text": "Lemons are?\nA. sour\nB. sweet\nC. salty\nD. bitter", "options": list("ABCD")}
    Path("items.jsonl").write_text(json.dumps(item))
    oversight("init", "--items", "items.jsonl")
    Path("samples_t.jsonl").write_text(
        json.dumps(score({"question": "Lemons are?", "choices": list(TASTES)}, "ABCD", 2))
    )
    assert oversight("predictions", "import", "samples_t.jsonl", "--model", "m")["ok"] == 1
    oversight("predictions", "export", "out.jsonl")
    assert json.loads(Path("out.jsonl").read_text())["option_text"] == "C"


def test_prompt_is_compared_if_no_known_field_has_the_question(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    riddles = ["Lemons are?", "Salt is?", "Which is sweet, ice or honey?"]
    Path("items.csv").write_text("id,text\n" + "".join(f'{j},"{text}"\n' for j, text in enumerate(riddles)))
    oversight("init", "--items", "items.csv", "--classes", "sour,sweet")

    def write(first: int, prompt: str) -> None:
        samples = [
            {**score({"riddle": text}, ["sour", "sweet"], 0, prompt.format(text)), "doc_id": j}
            for j, text in enumerate(riddles[first:])
        ]
        Path("samples_t.jsonl").write_text("\n".join(map(json.dumps, samples)))

    for prompt in ("{}", "Question: {}\nAnswer:"):
        write(1, prompt)
        error = oversight("predictions", "import", "samples_t.jsonl", "--model", "m", code=2)["error"]
        assert "2 of 2 compared texts differ" in error
        write(0, prompt)
        done = oversight("predictions", "import", "samples_t.jsonl", "--model", "m")
        assert (done["ok"], done["texts_checked"], done["texts_unchecked"]) == (3, 3, 0)


def test_sorted_names_of_arguments_keep_the_order_of_options(tmp_path: Path) -> None:
    options = [f"taste {j}" for j in range(12)]
    sample = score({"question": "Lemons are?", "choices": options}, options, 2)
    sample["arguments"] = dict(sorted(sample["arguments"].items()))
    (found,) = read(tmp_path, sample)
    assert (found.options, found.answer) == (tuple(options), 2)


def test_a_list_of_targets_is_read(tmp_path: Path) -> None:
    (found,) = read(tmp_path, generate({"question": "Lemons are?"}, "sour", "sour", target=["sour", "acid"]))
    assert (found.text, found.answer, found.options) == ("Lemons are?", "sour", ())
