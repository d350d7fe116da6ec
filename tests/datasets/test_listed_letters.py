"""Letters in another program's log denote the options that its prompt lists, in any order."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Oversight = Callable[..., Any]
CLASSES = ("alpha", "beta", "gamma", "delta")
ORDERS = (("gamma", "alpha", "delta", "beta"), ("delta", "gamma", "beta", "alpha"), CLASSES)
MEANT = ("alpha", "beta", "gamma")
"""The options that the model means, for each of the three items."""


@pytest.fixture
def import_log(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    """Import a log into a study of three items; return the command's output."""
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},Note {text(j)}\n" for j in range(3)))
    oversight("init", "--items", "items.csv", "--classes", ",".join(CLASSES))

    def do(log: str, name: str, kind: str, code: int = 0) -> dict[str, Any]:
        Path(name).write_text(log)
        told = oversight("predictions", "import", name, "--model", "m", "--format", kind, code=code)
        assert isinstance(told, dict)
        return told

    return do


def text(j: int) -> str:
    return f"number {j} about a thing."


def prompt(j: int, line: str = "{}) {}", joint: str = "\n") -> str:
    """The text of item j and its options, in this item's order."""
    pairs = zip("ABCD", ORDERS[j], strict=True)
    return f"Note {text(j)}\n{joint.join(line.format(*pair) for pair in pairs)}\nAnswer:"


def letter(j: int) -> str:
    return "ABCD"[ORDERS[j].index(MEANT[j])]


def inspect(prompts: Sequence[str], replies: Sequence[str], **fields: Any) -> str:
    samples = [
        {
            "id": f"i{j}",
            "epoch": 1,
            "input": given,
            "output": {"completion": reply},
            "choices": None,
            **fields,
        }
        for j, (given, reply) in enumerate(zip(prompts, replies, strict=True))
    ]
    return json.dumps({"status": "success", "samples": samples})


def scored(prompts: Sequence[str], replies: Sequence[str], **fields: Any) -> str:
    """A log of inspect-ai whose scorer stored the letter."""
    log = json.loads(inspect(prompts, replies, **fields))
    for sample, reply in zip(log["samples"], replies, strict=True):
        sample["scores"] = {"pattern": {"value": "C", "answer": reply}}
        sample["output"]["completion"] = f"I choose {reply}."
    return json.dumps(log)


def lm_eval(prompts: Sequence[str], replies: Sequence[str], said: str = "", **fields: Any) -> str:
    return "\n".join(
        json.dumps(
            {
                "doc_id": j,
                "doc": {"id": f"i{j}", "text": f"Note {text(j)}", **fields},
                "target": 0,
                "arguments": [[given, {"until": []}]],
                "resps": [[reply]],
                "filtered_resps": [said or reply],
            }
        )
        for j, (given, reply) in enumerate(zip(prompts, replies, strict=True))
    )


def scored_letters(prompts: Sequence[str], replies: Sequence[str]) -> str:
    """A log of lm-evaluation-harness whose continuations are letters."""
    samples = [json.loads(line) for line in lm_eval(prompts, replies, choices=list(CLASSES)).splitlines()]
    for sample, given, reply in zip(samples, prompts, replies, strict=True):
        sample["arguments"] = [[given, f" {label}"] for label in "ABCD"]
        sample["filtered_resps"] = [[-1.0 if label == reply else -3.0, False] for label in "ABCD"]
    return "\n".join(map(json.dumps, samples))


def helm(prompts: Sequence[str], replies: Sequence[str]) -> str:
    references = [{"output": {"text": name}, "tags": ["correct"][:j]} for j, name in enumerate(CLASSES)]
    states = [
        {
            "instance": {"id": f"i{j}", "input": {"text": f"Note {text(j)}"}, "references": references},
            "request": {"prompt": given},
            "result": {"completions": [{"text": reply}]},
        }
        for j, (given, reply) in enumerate(zip(prompts, replies, strict=True))
    ]
    return json.dumps({"request_states": states})


def table(prompts: Sequence[Any], replies: Sequence[str], column: str = "prompt") -> str:
    rows = [
        {"id": f"i{j}", column: given, "prediction": reply}
        for j, (given, reply) in enumerate(zip(prompts, replies, strict=True))
    ]
    return "\n".join(map(json.dumps, rows))


def solved(prompts: Sequence[str], replies: Sequence[str]) -> str:
    """A log of inspect-ai whose solver added the options to the input."""
    log = json.loads(inspect(prompts, replies))
    for sample in log["samples"]:
        roles = {"user": sample["input"], "assistant": "A) beta, B) alpha"}
        sample["messages"] = [{"role": role, "content": given} for role, given in roles.items()]
        sample["input"] = sample["input"].partition("\n")[0]
    return json.dumps(log)


def with_options(prompts: Sequence[str], replies: Sequence[str]) -> str:
    rows = [json.loads(line) for line in table(prompts, replies, column="note").splitlines()]
    return "\n".join(json.dumps({**row, "options": ORDERS[j]}) for j, row in enumerate(rows))


def messages(prompts: Sequence[str], replies: Sequence[str]) -> str:
    return table([[{"role": "user", "content": given}] for given in prompts], replies)


LOGS: dict[str, tuple[Callable[..., str], str, str]] = {
    "inspect": (inspect, "l.json", "inspect"),
    "inspect, scorer": (scored, "l.json", "inspect"),
    "inspect, solver": (solved, "l.json", "inspect"),
    "lm-eval": (lm_eval, "samples_t.jsonl", "lm-eval"),
    "lm-eval, filter": (lambda p, r: lm_eval(p, r, said="[invalid]"), "samples_t.jsonl", "lm-eval"),
    "lm-eval, choices": (lambda p, r: lm_eval(p, r, choices=list(CLASSES)), "samples_t.jsonl", "lm-eval"),
    "lm-eval, likelihoods": (scored_letters, "samples_t.jsonl", "lm-eval"),
    "helm": (helm, "scenario_state.json", "helm"),
    "table": (table, "t.jsonl", "table"),
    "table, question": (lambda p, r: table(p, r, column="question"), "t.jsonl", "table"),
    "table, options": (with_options, "t.jsonl", "table"),
    "table, messages": (messages, "t.jsonl", "table"),
}


ORDERED: dict[str, tuple[Callable[..., str], str, str]] = {
    "inspect": (lambda p, r: inspect(p, r, choices=list(CLASSES)), "l.json", "inspect"),
    "inspect, scorer": (lambda p, r: scored(p, r, choices=list(CLASSES)), "l.json", "inspect"),
}
"""Logs without messages, whose choices have another order than a list in the input."""


def read_options(oversight: Oversight) -> list[str | None]:
    oversight("predictions", "export", "out.jsonl")
    return [json.loads(line)["option_text"] for line in Path("out.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", LOGS)
def test_letters_denote_the_options_that_the_prompt_lists(
    name: str, oversight: Oversight, import_log: Callable[..., Any]
) -> None:
    write, *rest = LOGS[name]
    import_log(write([prompt(j) for j in range(3)], [letter(j) for j in range(3)]), *rest)
    assert read_options(oversight) == [*MEANT]


@pytest.mark.parametrize("name", ORDERED)
def test_letters_denote_the_choices_if_no_sent_message_is_known(
    name: str, oversight: Oversight, import_log: Callable[..., Any]
) -> None:
    write, *rest = ORDERED[name]
    import_log(write([prompt(j) for j in range(3)], ["A", "B", "C"]), *rest)
    assert read_options(oversight) == [*CLASSES[:3]]


@pytest.mark.parametrize("choices", [None, list(CLASSES)])
def test_lists_of_worked_examples_do_not_count(
    choices: list[str] | None, oversight: Oversight, import_log: Callable[..., Any]
) -> None:
    log = json.loads(inspect([""] * 3, ["ANSWER: A"] * 3, choices=choices))
    for j, sample in enumerate(log["samples"]):
        example = {"role": "system", "content": "An example.\n" + prompt(0) + " A"}
        sample["input"] = [example, {"role": "user", "content": f"Note {text(j)}"}]
        pairs = zip("ABCD", CLASSES, strict=True)
        asked = "\n".join([f"Note {text(j)}", *(f"{letter}) {name}" for letter, name in pairs)])
        sample["messages"] = [example, {"role": "user", "content": asked}]
    import_log(json.dumps(log), "l.json", "inspect")
    assert read_options(oversight) == ["alpha"] * 3
    if choices is None:
        for sample in log["samples"]:
            sample["messages"] = sample["input"]
        assert "names an option by its label" in import_log(json.dumps(log), "l.json", "inspect", 2)["error"]


LETTERS_IN_TEXT = (
    "Serology: hepatitis A: negative; hepatitis B: positive. Result?",
    "Hepatitis A: negative, B: positive. Result?",
    "Grade with A = negative and B = positive given.",
    "Is it A. negative or B. positive?",
    "Vitamin B: positive. Vitamin A: negative.",
)


@pytest.mark.parametrize("given", LETTERS_IN_TEXT)
def test_letters_in_running_text_are_no_list(
    given: str, oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text(f'id,text\ni0,"{given}"\n')
    oversight("init", "--items", "items.csv", "--classes", "positive,negative")
    row = {"id": "i0", "text": given}
    listed = f"Options: A. negative B. positive\n{given}"
    logs = {
        "prediction.jsonl": json.dumps({**row, "prediction": "A"}),
        "raw.jsonl": json.dumps({**row, "raw": "ANSWER: A"}),
        "prompt.jsonl": json.dumps({**row, "prediction": "A", "prompt": listed}),
        "choices.json": inspect([listed], ["ANSWER: A"], choices=["positive", "negative"]),
        "listed.json": inspect([listed], ["ANSWER: A"]),
    }
    for name, log in logs.items():
        Path(name).write_text(log)
        kind = "table" if name.endswith("l") else "inspect"
        oversight("predictions", "import", name, "--model", name.partition(".")[0], "--format", kind)
    oversight("predictions", "export", "out.jsonl")
    rows = map(json.loads, Path("out.jsonl").read_text().splitlines())
    read = {row["model"]: row["option_text"] for row in rows}
    own = dict.fromkeys(["prediction", "raw", "choices"], "positive")
    assert read == {**own, **dict.fromkeys(["prompt", "listed"], "negative")}
    Path("unlisted.json").write_text(inspect([given], ["ANSWER: A"]))
    oversight("predictions", "import", "unlisted.json", "--model", "u", "--format", "inspect", code=2)


@pytest.mark.parametrize(
    ("line", "joint"),
    [("({}) {}", "\n"), ("{}. {}", "  "), ("**{}**: {}", "\n"), ("- [{}] {}", "\n"), ('"{}": "{}"', ", ")],
)
@pytest.mark.parametrize("reply", ["{0}", "The answer is ({0}).", "{0}) {1}", "{1}"])
def test_list_and_reply_may_have_other_forms(
    line: str, joint: str, reply: str, oversight: Oversight, import_log: Callable[..., Any]
) -> None:
    prompts = [f"A) beta\nB) delta\nAnswer: A\n\n{prompt(j, line, joint)}" for j in range(3)]
    replies = [reply.format(letter(j), MEANT[j]) for j in range(3)]
    import_log(inspect(prompts, replies), "l.json", "inspect")
    assert read_options(oversight) == [*MEANT]


@pytest.mark.parametrize("name", ["inspect", "inspect, scorer", "lm-eval", "lm-eval, filter", "helm"])
def test_letter_without_listed_options_is_unreadable_and_counted(
    name: str, oversight: Oversight, import_log: Callable[..., Any]
) -> None:
    write, *rest = LOGS[name]
    prompts = [f"Note {text(j)}" for j in range(3)]
    told = import_log(write(prompts, ["A", "B", "gamma"]), *rest)
    assert (told["unreadable"], told["unknown_letters"]) == (2, 2)
    assert read_options(oversight) == [None, None, "gamma"]
    error = import_log(write(prompts, ["A", "B", "A"]), *rest, code=2)["error"]
    assert "by its label, but the log does not say which option the label denotes" in error
    assert read_options(oversight) == [None, None, "gamma"]


def test_numbers_of_a_listed_order_are_not_counted_as_wrong_answers(import_log: Callable[..., Any]) -> None:
    prompts = [prompt(j).translate(dict(zip(map(ord, "ABCD"), "1234", strict=True))) for j in range(3)]
    error = import_log(inspect(prompts, ["2", "(1)", "3."]), "l.json", "inspect", code=2)["error"]
    assert "'2' names an option by its label" in error


def test_table_with_other_names_for_all_options_is_refused(
    oversight: Oversight, import_log: Callable[..., Any]
) -> None:
    error = import_log("id,prediction\ni0,0\ni1,2\ni2,1\n", "t.csv", "table", code=2)["error"]
    assert "t.csv:2 [prediction]: '0' is not one of the item's options, 'alpha', 'beta'" in error
    assert "no model was run yet" in oversight("predictions", "export", "out.csv", code=2)["error"]


@pytest.mark.parametrize(
    "rows", ["id,prediction\ni0,\ni1,\ni2,\n", "id,raw\ni0,0\ni1,No idea.\ni2,omega\n"], ids=["empty", "raw"]
)
def test_model_without_a_readable_answer_is_imported(rows: str, import_log: Callable[..., Any]) -> None:
    assert import_log(rows, "t.csv", "table")["unreadable"] == 3


def test_options_of_one_letter_without_a_single_capital_are_read(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n1,Which letter?\n")
    Path("m.csv").write_text("id,raw\n1,ß\n")
    oversight("init", "--items", "items.csv", "--classes", "ß,ſ")
    assert oversight("predictions", "import", "m.csv", "--model", "m")["ok"] == 1
