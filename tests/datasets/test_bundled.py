"""The data that come with the project are what data/README.md says."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from oversight.harness.datasets import read_items, read_key, read_rows
from oversight.protocols.routing import read_roster

DATA = Path(__file__).parents[2] / "data"
CLASSES = (
    "cardiology",
    "neurology",
    "gastroenterology",
    "pulmonology",
    "nephrology",
    "endocrinology",
    "dermatology",
    "rheumatology",
)


def test_case_notes_are_balanced_and_never_name_the_class() -> None:
    items = read_items(DATA / "case_notes.jsonl", classes=CLASSES)
    truth = read_key(DATA / "case_notes.key.csv", items)
    assert len(items) == 240
    assert set(Counter(truth.values()).values()) == {30}
    stems = "cardiolog|neurolog|gastroenterolog|pulmon|nephrolog|endocrin|dermatolog|rheumat"
    assert [item.id for item in items if re.search(stems, item.text, re.IGNORECASE)] == []
    assert all(15 <= len(item.text.split()) <= 42 for item in items)


def test_examples_are_other_notes_of_all_classes() -> None:
    notes = {i.text for i in read_items(DATA / "case_notes.jsonl", classes=CLASSES)}
    examples = [json.loads(line) for line in (DATA / "case_notes.examples.jsonl").read_text().splitlines()]
    assert Counter(e["label"] for e in examples) == dict.fromkeys(CLASSES, 3)
    assert not notes & {e["text"] for e in examples}


def test_the_roster_has_one_expert_per_class() -> None:
    roster = read_roster(DATA / "case_notes.experts.toml")
    roster.check(CLASSES)
    assert [len(roster.for_class(name)) for name in CLASSES] == [1] * 8


def test_questions_vary_in_their_number_of_options() -> None:
    items = read_items(DATA / "questions.jsonl", meta=("subject",))
    truth = read_key(DATA / "questions.key.csv", items)
    assert Counter(len(item.options) for item in items) == {3: 20, 4: 40, 5: 30, 6: 15, 8: 10, 10: 5}
    assert set(Counter(item.meta["subject"] for item in items).values()) == {20}
    lengths = [(sorted(map(len, i.options)), len(i.options[truth[i.id]])) for i in items]
    longest = sum(right == ordered[-1] > ordered[-2] for ordered, right in lengths)
    assert longest < 1.4 * sum(1 / len(item.options) for item in items)


def test_open_answers_have_a_key_for_every_criterion() -> None:
    items = [json.loads(line) for line in (DATA / "open_answers.jsonl").read_text().splitlines()]
    models = ("amber", "birch", "cedar")
    with (DATA / "open_answers.key.csv").open(encoding="utf-8") as stream:
        key = {(row["item"], row["model"], row["unit"]): row["label"] for row in csv.DictReader(stream)}
    assert key.keys() == {(i["id"], m, c["criterion"]) for i in items for m in models for c in i["rubrics"]}
    assert len(items) == 40
    fields = Counter(criterion["field"] for item in items for criterion in item["rubrics"])
    assert fields == {"medicine": 60, "finance": 53, "physics": 47}
    assert sum(len({c["field"] for c in item["rubrics"]}) > 1 for item in items) == 19
    assert all([c["points"] > 0 for c in item["rubrics"]] == [True] * 3 + [False] for item in items)
    answers = {m: read_rows(DATA / f"open_answers.{m}.csv") for m in models}
    texts = {m: {row.text("id"): row.text("raw") for row in rows} for m, rows in answers.items()}
    assert all(texts[m].keys() == {item["id"] for item in items} for m in models)
    assert sum(texts["amber"][i["id"]] == texts["birch"][i["id"]] for i in items) == 8


def test_checksums_in_the_datasheet_are_right() -> None:
    text = (DATA / "README.md").read_text(encoding="utf-8")
    listed = dict(reversed(line.split()) for line in re.findall(r"^[0-9a-f]{64}  \S+$", text, re.MULTILINE))
    files = {path.name for path in DATA.iterdir() if path.name != "README.md"}
    assert set(listed) == files
    for name, digest in listed.items():
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest, name
