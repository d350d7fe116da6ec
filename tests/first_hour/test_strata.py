"""Strata from a column that is named late, or from the metadata of a log."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main

Oversight = Callable[..., Any]
CLASSES = ("red", "green")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Path:
    """Questions are drawn and answered, a model's answers are in; no meta was named."""
    monkeypatch.chdir(tmp_path)
    rows = [[f"i{j}", f"item {j}", CLASSES[j % 2], "day" if j < 40 else "night"] for j in range(80)]
    with Path("mine.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", "text", "label", "shift"], *rows])
    roster = "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    Path("experts.toml").write_text(roster)
    write_study("")
    Path("model.csv").write_text(
        "id,prediction\n" + "".join(f"{i},{c if i[1] != '3' else 'red'}\n" for i, _, c, _ in rows)
    )
    oversight("label", "route")
    oversight("predictions", "import", "model.csv", "--model", "m")
    oversight("label", "simulate", "--key", "mine.csv")
    return tmp_path


def write_study(meta: str) -> None:
    items = f'[items]\nfile = "mine.csv"\nclasses = {list(CLASSES)}\n{meta}\n'
    Path("study.toml").write_text(f'[study]\nname = "t"\n{items}')


def test_a_column_named_later_gives_strata(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--set", "estimate.strata=shift"]) == 2
    assert "name it in [items] meta" in capsys.readouterr().err
    write_study('meta = ["shift"]')
    assert oversight("estimate", "--set", "estimate.strata=shift")["models"]
    assert oversight("label", "route")["new"] == 0


def test_texts_and_options_still_may_not_change(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_study('meta = ["shift"]')
    Path("mine.csv").write_text(Path("mine.csv").read_text().replace("item 7,", "item seven,"))
    assert main(["estimate", "--set", "estimate.strata=shift"]) == 2
    assert "'i7' is stored with another text" in capsys.readouterr().err


def test_the_stored_column_is_kept(study: Path, oversight: Oversight) -> None:
    write_study('meta = ["shift"]')
    oversight("label", "route")
    Path("mine.csv").write_text(Path("mine.csv").read_text().replace("night", "late"))
    write_study('meta = ["shift", "label"]')
    oversight("label", "route")
    from oversight.harness.store import Store

    with Store("sqlite:///study.db") as store:
        items = store.content.read_items()
    assert {item.meta["shift"] for item in items} == {"day", "night"}
    assert items[1].meta == {"shift": "day", "label": "green"}


OPTIONS = ["sour", "sweet"]
ROSTER = '[[expert]]\nname = "ana"\nclasses = ["*"]\n'


def inspect_log(subjects: dict[str, str]) -> str:
    """Write a log of inspect-ai with a sample per item and its metadata."""
    samples = [
        {
            "id": name,
            "epoch": 1,
            "input": f"How does {name} taste?",
            "choices": OPTIONS,
            "metadata": {"subject": subject, "text": "not the question", "tags": ["a"], "gold": "A"},
            "output": {"choices": [{"message": {"role": "assistant", "content": "ANSWER: A"}}]},
        }
        for name, subject in subjects.items()
    ]
    Path("log.json").write_text(json.dumps({"version": 2, "status": "success", "samples": samples}))
    return "log.json"


def lm_eval_log(subjects: dict[str, str]) -> str:
    """Write samples of lm-evaluation-harness with a document per item."""
    samples = [
        {
            "doc_id": place,
            "doc": {
                "id": name,
                "question": f"How does {name} taste?",
                "options": OPTIONS,
                "subject": subject,
                "answer": "sour",
            },
            "arguments": {"gen_args_0": {"arg_0": "…"}},
            "resps": [["A"]],
            "filtered_resps": ["A"],
            "filter": "none",
        }
        for place, (name, subject) in enumerate(subjects.items())
    ]
    Path("samples_t.jsonl").write_text("\n".join(map(json.dumps, samples)))
    return "samples_t.jsonl"


SUBJECTS = {f"i{j}": "fruit" if j < 20 else "candy" for j in range(40)}
LOGS: dict[str, Callable[[dict[str, str]], str]] = {"inspect": inspect_log, "lm-eval": lm_eval_log}


@pytest.mark.parametrize("kind", LOGS)
def test_metadata_of_a_log_are_columns_of_its_items(
    kind: str, oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = LOGS[kind](SUBJECTS)
    oversight("predictions", "items", log, "--format", kind)
    rows = [json.loads(line) for line in Path("items.jsonl").read_text().splitlines()]
    assert list(rows[0]) == ["id", "text", "options", "subject"]
    assert rows[0]["text"] == "How does i0 taste?"
    oversight("init", "--items", "items.jsonl")
    assert 'meta = ["subject"]' in Path("study.toml").read_text()
    assert by_stratum(log, kind, oversight) == {"candy", "fruit"}


@pytest.mark.parametrize("kind", LOGS)
def test_a_log_gives_strata_to_items_that_lack_the_column(
    kind: str, oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": name, "text": f"How does {name} taste?", "options": OPTIONS} for name in SUBJECTS]
    Path("mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "mine.jsonl"\n[estimate]\nstrata = "subject"\n'
    )
    assert by_stratum(LOGS[kind](SUBJECTS), kind, oversight) == {"candy", "fruit"}
    assert oversight("store", "verify")["findings"] == []


def by_stratum(log: str, kind: str, oversight: Oversight) -> set[str]:
    """Answer all questions, and return the strata that an estimate tells apart."""
    Path("experts.toml").write_text(ROSTER)
    Path("key.csv").write_text("id,label\n" + "".join(f"{name},sour\n" for name in SUBJECTS))
    oversight("label", "route")
    oversight("label", "simulate", "--key", "key.csv")
    oversight("predictions", "import", log, "--format", kind, "--model", "m")
    found = oversight("estimate", "--set", "estimate.strata=subject")
    return set(re.findall("stratum '(\\w+)'", json.dumps(found["models"]["m"])))


def test_two_strata_of_one_item_are_refused(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\na,A?\nb,B?\n")
    Path("log.csv").write_text("id,prediction,sample,subject\na,red,0,x\na,red,1,y\n")
    Path("study.toml").write_text(
        f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {list(CLASSES)}\n'
        '[estimate]\nstrata = "subject"\n'
    )
    refused = oversight("predictions", "import", "log.csv", "--model", "m", code=2)["error"]
    assert refused == "log.csv:3 [subject]: the item 'a' has 'y' here, and 'x' before"
    assert "no model was run yet" in oversight("predictions", "export", "all.csv", code=2)["error"]
