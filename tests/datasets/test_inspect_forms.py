"""Samples of inspect-ai's logs in the forms of all its versions since 2024."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import DataError
from oversight.harness.llm import read_foreign_option
from oversight.harness.types import ForeignAnswer
from tests.datasets.foreign_answers import read_foreign

Oversight = Callable[..., Any]
TASTES = ["sour", "sweet", "salty"]
SHOWN = "Choices were shuffled before generating a response, the following was sent to the model:\n\n"


def sample(name: int | str = 1, content: object = "sour", **fields: Any) -> dict[str, Any]:
    """A sample without ``completion``, as older versions wrote it."""
    message = {"role": "assistant", "content": content, "source": "generate"}
    output = {"model": "m", "choices": [{"message": message, "stop_reason": "stop"}]}
    return {"id": name, "epoch": 1, "input": "Lemons are?", "target": "", "output": output, **fields}


def write(path: Path, *samples: object, **header: object) -> Path:
    path.write_text(json.dumps({"version": 2, "status": "success", "samples": samples, **header}))
    return path


def read(tmp_path: Path, *samples: object, **header: object) -> list[ForeignAnswer]:
    return read_foreign(write(tmp_path / "log.json", *samples, **header), "inspect")


def user(text: object) -> dict[str, object]:
    return {"role": "user", "content": text}


def assistant(text: object) -> dict[str, object]:
    return {"role": "assistant", "content": text}


EMPTY = {"model": "m", "choices": [], "completion": ""}


@pytest.mark.parametrize(
    ("given", "raw"),
    [
        (sample(content="sour"), "sour"),
        (
            sample(content=[{"type": "reasoning", "reasoning": "sweet?"}, {"type": "text", "text": "sour"}]),
            "sour",
        ),
        (
            sample(
                content=[{"type": "text", "text": "a"}, {"type": "tool_use"}, {"type": "text", "text": "b"}]
            ),
            "a\nb",
        ),
        (sample(output={"choices": [{"message": assistant("shown")}], "completion": "restored"}), "restored"),
        (sample(output={"choices": [{"message": assistant("shown")}], "completion": None}), "shown"),
        (sample(output=EMPTY, messages=[user("?"), assistant("sour"), user("go on")]), "sour"),
        (sample(output=EMPTY, messages=[user("?")]), ""),
        (sample(content="attachment://ab", attachments={"ab": "sour"}), "sour"),
        ({"id": 1, "epoch": 1, "input": "?", "messages": [assistant("sour")]}, "sour"),
    ],
    ids=range(9),
)
def test_the_text_of_the_model_is_found(given: dict[str, Any], raw: str, tmp_path: Path) -> None:
    (answer,) = read(tmp_path, given)
    assert answer.raw == raw


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("Lemons are?", "Lemons are?"),
        ([{"role": "system", "content": "Be brief."}, user("Lemons are?")], "Lemons are?"),
        ([user([{"type": "text", "text": "Lemons"}, {"type": "text", "text": "are?"}])], "Lemons\nare?"),
        ([user("Read this."), user("Lemons are?")], "Read this.\n\nLemons are?"),
        (
            [user("Salt?"), assistant("salty"), user("Lemons?")],
            "user: Salt?\n\nassistant: salty\n\nuser: Lemons?",
        ),
        ([user("tc://ab")], "Long text"),
    ],
    ids=range(6),
)
def test_question_is_the_text_of_user_turns(given: object, text: str, tmp_path: Path) -> None:
    (answer,) = read(tmp_path, sample(input=given, attachments={"ab": "Long text"}))
    assert (answer.text, answer.gap) == (text, "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [user([{"type": "text", "text": "What is this?"}, {"type": "image", "image": "x"}])],
            "the input contains image",
        ),
        ([{"role": "system", "content": "Be brief."}], "no message of the input contains a user's text"),
    ],
)
def test_an_input_that_makes_no_item_is_named(
    given: object, message: str, oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("log.json"), sample(input=given))
    error = oversight("predictions", "items", "log.json", "--format", "inspect", code=2)["error"]
    assert f"log.json:1 [text]: {message}" in error
    assert "write a table with the columns id, text and prediction" in error
    assert not Path("items.jsonl").exists()


def score(**fields: object) -> dict[str, object]:
    return {"choice": {"value": "I", **fields}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"scores": score(answer="B")}, (1, TASTES, "")),
        ({"scores": score(answer="A"), "choices": ["C", "A", "B"]}, (0, ["C", "A", "B"], "")),
        ({"score": {"value": "C", "answer": "C"}}, (2, TASTES, "")),  # of version 1
        ({"scores": score(answer="sweet")}, ("sweet", TASTES, "")),
        (
            {
                "scores": score(
                    answer="", explanation=f"{SHOWN}A) salty\nB) sour\nC) sweet\nShuffled answer:\nANSWER: "
                )
            },
            (None, ["salty", "sour", "sweet"], ""),
        ),
        ({"scores": score(answer="", explanation=f"{SHOWN}something else")}, (None, TASTES, "unreadable")),
    ],
    ids=range(6),
)
def test_letters_name_the_choices_that_were_shown(
    fields: dict[str, Any], expected: tuple[object, list[str], str], tmp_path: Path
) -> None:
    (answer,) = read(tmp_path, sample(content="I take B", **{"choices": TASTES, **fields}))
    assert (answer.answer, list(answer.options), answer.status) == expected


def test_letters_of_shuffled_choices_mean_nothing_without_a_scorer(tmp_path: Path) -> None:
    plan = {"steps": [{"solver": "multiple_choice", "params": {"shuffle": True}}]}
    restored, left = sample(1, "ANSWER: B", choices=TASTES), sample(2, "I take B", choices=TASTES)
    assert [a.status for a in read(tmp_path, restored, left, plan=plan)] == ["", "unreadable"]
    assert [a.status for a in read(tmp_path, restored, left)] == ["", ""]


def test_text_of_a_shuffled_choice_needs_no_order(tmp_path: Path) -> None:
    plan = {"steps": [{"solver": "own", "params": {"shuffle": True}}]}
    told = sample(1, "It is sweet.", choices=TASTES, scores={"match": {"answer": "sweet"}})
    (answer,) = read(tmp_path, told, plan=plan)
    found, *_ = read_foreign_option(answer, "1", tuple(TASTES), "log.json")
    assert found == TASTES.index("sweet")


@pytest.mark.parametrize(
    ("reply", "scores", "shuffle", "option"),
    [
        ("B", {"choice": {"answer": ""}, "includes": {"answer": "B"}}, True, "sour"),
        ("B", {"match": {"answer": "B"}}, True, "sour"),
        ("ANSWER: B", {"answer": {"answer": "B"}}, None, "sour"),  # another solver moved the choices
        ("ANSWER: C", {"choice": {"answer": "C"}}, None, "salty"),
        ("sweet", {"includes": {"answer": "sweet"}}, True, "sweet"),
    ],
)
def test_letters_that_scorers_copied_name_the_choices_of_the_prompt(
    reply: str, scores: object, shuffle: object, option: str, tmp_path: Path
) -> None:
    plan = {"steps": [{"solver": "multiple_choice", "params": {"shuffle": shuffle}}]}
    messages = [user("Lemons are?\n\nA) sweet\nB) sour\nC) salty"), assistant(reply)]
    (answer,) = read(tmp_path, sample(1, reply, choices=TASTES, messages=messages, scores=scores), plan=plan)
    found, *_ = read_foreign_option(answer, "1", tuple(TASTES), "log.json")
    assert found == TASTES.index(option)


def test_errors_limits_and_lengths_are_distinguished(tmp_path: Path) -> None:
    long = sample(4)
    long["output"]["choices"][0]["stop_reason"] = "length"
    answers = read(
        tmp_path,
        sample(1, error={"message": "no server", "traceback": "…"}),
        sample(2, error="no server"),
        sample(3, limit={"type": "token", "limit": 5}),
        long,
        sample(5, limit={"type": "message", "limit": 5}),
    )
    assert [(a.error, a.cut) for a in answers] == [
        *[("no server", False)] * 2,
        ("", True),
        ("", True),
        ("", False),
    ]


def test_left_out_samples_are_counted(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n1,Lemons are?\n2,Salt is?\n")
    oversight("init", "--items", "items.csv", "--classes", "sour,salty")
    two = sample(1, input="Lemons are?", epoch=2)
    two["output"]["choices"].append({"message": assistant("salty")})
    invalid = sample(2, "salty", input="Salt is?", invalidation={"author": "x", "reason": "leak"})
    write(Path("log.json"), sample(1), two, invalid)
    done = oversight("predictions", "import", "log.json", "--format", "inspect", "--model", "m")
    assert (done["answers"], done["items"], done["ok"]) == (2, 1, 1)
    assert done["left_out"] == {"further choice of an output": 1, "invalidated sample": 1}


def test_header_without_samples_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{"version": 2, "status": "success", "eval": {}}')
    with pytest.raises(DataError, match=r"\[samples\]: the log contains no samples"):
        read_foreign(path, "inspect")


def test_a_sample_in_chunks_and_one_written_again_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"status": "success"}))
        folder = "samples/a_epoch_1/"
        archive.writestr(f"{folder}sample.json", json.dumps(sample("a", "attachment://1")))
        archive.writestr(f"{folder}attachments/0.json", json.dumps(["x"]))
        archive.writestr(f"{folder}attachments/1.json", json.dumps(["sweet"]))
        archive.writestr(f"{folder}events/stats.json", "{}")
        archive.writestr("samples/b_epoch_1.json", json.dumps(sample("b", "sour")))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("samples/b_epoch_1.json", json.dumps(sample("b", "salty")))
    assert [(a.id, a.raw) for a in read_foreign(path, "inspect")] == [("a", "sweet"), ("b", "salty")]
