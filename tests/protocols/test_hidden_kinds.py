"""Nobody can tell control questions from others by what experts get, even with the seed and all item ids."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from oversight.harness.config import Study, read_study
from oversight.harness.store import Store
from oversight.harness.types import PLACES, control_id, question_id
from oversight.protocols.collect.answer_page.answer_desk import AnswerDesk
from oversight.protocols.collect.label_studio.campaign import plan_tasks
from oversight.protocols.collect.label_studio.labelling_page import TaskSheet
from oversight.protocols.routing import read_pending
from tests.studies.opened import copy_study

CLASSES = ("red", "green", "blue")
EXPERTS = [f"{name}-{n}" for name in CLASSES for n in (1, 2)]
N = 600
KINDS = ("gold", "repeat", "overlap")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]) -> Study:
    """A study whose seed everybody knows, with control questions of all kinds."""
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{n},note {n} of them\n" for n in range(N)))
    gold = "".join(f"note {N + n} of them,{CLASSES[n % 3]}\n" for n in range(150))
    Path("gold.csv").write_text("text,answer\n" + gold)
    oversight("init", "--items", "items.csv", "--classes", ",".join(CLASSES), "--seed", "7")
    text = Path("study.toml").read_text()
    extra = 'gold = "gold.csv"\ngold_share = 0.25\nrepeat = 0.05\noverlap = 0.05\n'
    Path("study.toml").write_text(
        text.replace('protocol = "partitioned"', f'{extra}protocol = "partitioned"')
    )
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{e}"\nclasses = ["{e.split("-")[0]}"]\n' for e in EXPERTS)
    )
    oversight("label", "route")
    return read_study("study.toml")


def guess_kinds(ids: Sequence[str], study: Study) -> dict[str, str]:
    """The kinds of questions by their ids, from all that could define them but the study's key."""
    with Store(study.store_url) as store:
        gold = list(store.controls.read_gold_items())
    items = [f"i{n}" for n in range(N)]
    known = {question_id("partitioned", 7, *asked): "question" for asked in product(items, range(3))}
    for kind, item, option, expert in product(KINDS, [*items, *gold], range(3), EXPERTS):
        known[control_id(kind, 7, item, option, expert)] = kind
    return {name: known[name] for name in ids if name in known}


def read_sheets(folder: Path) -> list[str]:
    """The ids in an expert's own files, in their order."""
    ids = list[str]()
    for path in sorted(folder.iterdir()):
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        else:
            rows = list(csv.DictReader(path.read_text().splitlines()))
        ids += [re.sub("-[0-9a-f]{8}$", "", row["question_id"].removeprefix("q-")) for row in rows]
    return ids


def test_ids_do_not_reveal_kinds_of_questions(study: Study, oversight: Callable[..., Any]) -> None:
    seen = {"page": list(walk_page(study)), "tasks": make_tasks(study)}
    for form in ("csv", "jsonl"):
        oversight("label", "export", form, "--format", form)
        seen[form] = read_sheets(Path(form))
    with Store(study.store_url) as store:
        kinds = {c.id: c.kind.value for c in store.controls.read_controls()}
        every = {q.id for q in store.content.read_questions()} | kinds.keys()
    assert set(kinds.values()) == set(KINDS)
    for where, ids in seen.items():
        assert set(ids) <= every, where
        assert guess_kinds(ids, study) == {}, where
    for where in ("csv", "jsonl", "tasks"):
        assert set(seen[where]) == every


def walk_page(study: Study) -> Iterator[str]:
    """Ids that the answer page sends to the first expert."""
    with Store(study.store_url) as store:
        told = AnswerDesk(study, store).tell_state(EXPERTS[0])
    assert {frozenset(q) for q in told["questions"]} == {
        frozenset({"id", "mark", "text", "question", "description", "options", "choices"})
    }
    for question in told["questions"]:
        yield question["id"]


def make_tasks(study: Study) -> list[str]:
    """Ids of the tasks that go to Label Studio, in the order in which they are made."""
    sheet = TaskSheet.of(study)
    with Store(study.store_url) as store:
        asked, items = read_pending(study, store), store.read_shown_items()
    data = {one.id: sheet.data(one, items[one.item_id]) for one in asked}
    assert {frozenset(task) for task in data.values()} == {frozenset({"question_id", "text", "question"})}
    return [task.question_id for task in plan_tasks(asked, data, [])]


def test_places_do_not_reveal_gold_questions(study: Study) -> None:
    with Store(study.store_url) as store:
        gold = [c.place for c in store.controls.read_controls() if c.kind.value == "gold"]
        others = [q.place for q in store.content.read_questions()]
    assert len(gold) == 150
    assert max(p for p in [*gold, *others] if p is not None) < PLACES
    auc = mannwhitneyu(np.array(gold, float), np.array(others, float)).statistic / (len(gold) * len(others))
    assert 0.36 < auc < 0.64  # more than five standard errors around one half


def test_the_draw_follows_from_the_seed_and_ids_from_the_key(
    study: Study, tmp_path: Path, oversight: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> tuple[set[Any], set[str]]:
        with Store(read_study("study.toml").store_url) as store:
            asked, controls = store.content.read_questions(), store.controls.read_controls()
        drawn = {("", q.item_id, q.option, q.expert) for q in asked}
        drawn |= {(c.kind.value, c.item_id, c.option, c.expert) for c in controls}
        return drawn, {q.id for q in asked} | {c.id for c in controls}

    drawn, ids = read()
    assert oversight("label", "route")["new"] == 0
    Path("study.db").unlink()
    oversight("label", "route")
    again, others = read()
    assert again == drawn
    assert not others & ids


def test_secret_key_is_only_in_the_database(
    study: Study, tmp_path: Path, oversight: Callable[..., Any]
) -> None:
    with Store(study.store_url) as store:
        key = store.controls.read_key()
    assert len(key) == 32
    oversight("label", "export", "out")
    oversight("label", "audit", "--comments")
    oversight("store", "copy", f"sqlite:///{tmp_path}/copy.db")
    with Store(f"sqlite:///{tmp_path}/copy.db") as store:
        assert store.controls.read_key() == key
    for path in tmp_path.rglob("*"):
        if path.is_file() and ".db" not in path.name:
            held = path.read_bytes()
            assert key not in held, path
            assert key.hex().encode() not in held.lower(), path


def test_init_draws_an_unpredictable_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in "ab":
        oversight("init", "--classes", "red,green", folder)
    seeds = {tomllib.loads(Path(f, "study.toml").read_text())["study"]["seed"] for f in "ab"}
    assert len(seeds) == 2
    assert max(seeds) > 2**50
    oversight("init", "--classes", "red,green", "c", "--seed", "7")
    assert tomllib.loads(Path("c/study.toml").read_text())["study"]["seed"] == 7


def test_a_study_of_an_older_version_keeps_its_ids_and_verify_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from oversight.harness.cli.main import main

    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    assert main(["label", "route", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["new"] == 0
    assert main(["store", "verify"]) == 0
    assert "computed again from the seed alone" in capsys.readouterr().out
    with Store("sqlite:///study.db") as store:
        assert store.controls.read_key() == b""


def test_verify_computes_sealed_ids_with_the_database_at_hand_only(
    study: Study, oversight: Callable[..., Any]
) -> None:
    told = oversight("store", "verify")
    number = told["ids"]["checked"]
    assert told["ids"] == {"sealed": True, "checked": number, "unchecked": 0}
    assert number > N + 150
    oversight("label", "audit")
    assert oversight("store", "verify", "audit.jsonl")["ids"] == {
        "sealed": True,
        "checked": 0,
        "unchecked": number,
    }
    with Store(study.store_url) as store, store.transaction() as connection:
        connection.exec_driver_sql("UPDATE question_key SET secret = x'00'")
    found = oversight("store", "verify", code=1)
    assert found["number"] == number
    assert "does not follow from the study's secret key" in found["findings"][0]
