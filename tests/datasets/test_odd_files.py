"""Values that no log and no item file should hold: refused by file, line and field, nothing stored."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import DataError
from oversight.harness.cli.main import main
from oversight.harness.datasets import read_items
from oversight.harness.store import Store
from tests.cli.bad import ITEMS, STUDY
from tests.datasets.foreign_answers import read_foreign

LOGS = Path(__file__).parent / "logs"
DEEP = "[" * 100_000 + "]" * 100_000
ROW = {"id": "i1", "prediction": "red"}


def line(**fields: Any) -> str:
    return json.dumps(ROW | fields)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (line(sample=-1), r" \[sample\]: must be a whole number from 0 to 2,147,483,647, is -1"),
        (line(sample=1.5), r" \[sample\]: must be a whole number .* is 1\.5"),
        (line(sample=1e30), r" \[sample\]: must be a whole number"),
        (line(input_tokens=-5), r" \[input_tokens\]: must be a whole number .* is -5"),
        (line(output_tokens=2**31), r" \[output_tokens\]: must be a whole number"),
        (line(output_tokens=True), r" \[output_tokens\]: must be a number, is True"),
        (line(input_tokens=[7]), r" \[input_tokens\]: must be a number, is \[7\]"),
        (line(confidence=float("nan")), r" \[confidence\]: must be a number, is nan"),
        (line(sample=float("inf")), r" \[sample\]: must be a number, is inf"),
        (line(sample="9" * 400), r" \[sample\]: must be a number, is '9{70}"),
        (line(prediction={"a": [1]}), r" \[prediction\]: must be text or a number, is \{'a': \[1\]\}"),
        (line(raw="a \ud800"), r" \[raw\]: contains '\\ud800', half of a surrogate pair"),
        (json.dumps({**ROW, "\udfff": 1}), r" \[\\udfff\]: contains '\\udfff'"),
        (f'{{"id": "i1", "prediction": {DEEP}}}', r": malformed JSON: nested too deep"),
        ('{"id": "i1", "sample": ' + "9" * 5000 + "}", r": malformed JSON: Exceeds the limit"),
    ],
    ids=range(15),
)
def test_a_bad_value_is_named_and_nothing_of_the_log_is_stored(
    bad: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("items.csv").write_text(ITEMS)
    Path("log.jsonl").write_text(f'{{"id": "i0", "prediction": "red"}}\n{bad}\n')
    assert main(["predictions", "import", "log.jsonl", "--model", "x"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("oversight: log.jsonl:2")
    with pytest.raises(DataError, match=r"log\.jsonl:2" + message):
        read_foreign("log.jsonl", "table")
    with Store("sqlite:///study.db") as store:
        assert set(store.count_rows().values()) == {0}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"id": "b", "text": "\\ud83d", "options": ["x", "y"]}', r":2 \[text\]: contains '\\ud83d'"),
        (f'{{"id": "b", "text": {DEEP}, "options": ["x", "y"]}}', ":2: malformed JSON: nested too deep"),
        ('{"id": "b", "text": "t", "options": [["x"], "y"]}', r":2 \[options\]: an option must be text"),
        (json.dumps({"id": "b", "text": "t", "options": DEEP}), r":2 \[options\]: must be a JSON list"),
        (
            json.dumps({"id": "b", "text": [1] * 5000, "options": []}),
            r":2 \[text\]: must be text, is .{,80}$",
        ),
    ],
    ids=range(5),
)
def test_a_bad_item_is_named(bad: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(f'{{"id": "a", "text": "t", "options": ["x", "y"]}}\n{bad}\n')
    with pytest.raises(DataError, match=message):
        read_items(path)


ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e30, float("nan"), float("inf"), 10**30, "", "x", "\0", "\ud800", "²", [],
    {}, [[]], {"a": {"b": [1]}}, ["x", 1], [{"text": 3}], {"message": [1]}, json.loads("[" * 500 + "]" * 500),
)  # fmt: skip
READ: dict[str, Callable[[Path], object]] = {
    "questions.json": lambda path: read_foreign(path, "inspect"),
    "questions.eval": lambda path: read_foreign(path, "inspect"),
    "scenario_state.json": lambda path: read_foreign(path, "helm"),
    "samples_choices.jsonl": lambda path: read_foreign(path, "lm-eval"),
    "samples_questions.jsonl": lambda path: read_foreign(path, "lm-eval"),
}


def put(whole: Any, rng: random.Random) -> None:
    """Another value at any place, or none."""
    while True:
        key = rng.choice(list(whole) if isinstance(whole, dict) else range(len(whole)))
        if isinstance(whole[key], dict | list) and whole[key] and rng.random() < 0.7:
            whole = whole[key]
        elif rng.random() < 0.15:
            del whole[key]
            return
        else:
            whole[key] = rng.choice(ODD)
            return


@pytest.mark.parametrize("name", list(READ))
def test_a_mutated_log_is_read_or_refused(name: str, tmp_path: Path) -> None:
    rng, path, refused = random.Random(name), tmp_path / name, 0  # noqa: S311  draws a test, no secret
    source = (LOGS / name).read_bytes()
    for n in range(100):
        if n % 4 == 0 or name.endswith(".eval"):
            data = bytearray(source)
            for _ in range(rng.choice([1, 3, 30])):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        else:
            lines = source.splitlines() if name.endswith(".jsonl") else [source]
            records = [json.loads(text) for text in lines]
            put(rng.choice(records), rng)
            data = bytearray("\n".join(map(json.dumps, records)).encode())
        path.write_bytes(data)
        try:
            READ[name](path)
        except DataError as error:
            refused += str(error).startswith(str(tmp_path))
    assert refused > 5


def test_an_archive_without_the_member_it_lists_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1.json", "{}")
    path.write_bytes(path.read_bytes().replace(b"{}", b"{]", 1))
    with pytest.raises(DataError, match=r"not a whole \.eval archive: Bad CRC"):
        read_foreign(path, "inspect")
