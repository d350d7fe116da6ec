"""The data that come with the project are what data/README.md says."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from oversight.harness.datasets import read_items, read_key
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


def test_checksums_in_the_datasheet_are_right() -> None:
    text = (DATA / "README.md").read_text(encoding="utf-8")
    listed = dict(reversed(line.split()) for line in re.findall(r"^[0-9a-f]{64}  \S+$", text, re.MULTILINE))
    files = {path.name for path in DATA.iterdir() if path.name != "README.md"}
    assert set(listed) == files
    for name, digest in listed.items():
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest, name
