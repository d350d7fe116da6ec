"""Experts who are away, replaced, or whose open questions others answer: nothing of the design changes."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from oversight import study_report
from oversight.harness.errors import StoreError
from oversight.harness.store import Store
from oversight.harness.types import Answer, Verdict
from oversight.protocols import people
from tests.test_studies import call, inside

CLASSES = ("red", "green")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """A study of two classes and four experts, one of them of both; what calls a verb of it."""
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "people"\nseed = 3\n[items]\nfile = "items.csv"\nclasses = ["red", "green"]\n'
    )
    lines = [f"i{j},Item number {j} is here to be judged.,{CLASSES[j % 2]}" for j in range(60)]
    (tmp_path / "items.csv").write_text("\n".join(["id,text,x", *lines]) + "\n")
    (tmp_path / "key.csv").write_text(
        "\n".join(["id,label", *(f"i{j},{CLASSES[j % 2]}" for j in range(60))]) + "\n"
    )
    roster = {"ana": ["red"], "bea": ["green"], "cem": ["red", "green"], "dua": ["red"]}
    text = "".join(f'[[expert]]\nname = "{n}"\nclasses = {json.dumps(c)}\n' for n, c in roster.items())
    (tmp_path / "experts.toml").write_text(text)

    def act(*words: str, code: int = 0) -> Any:
        found = call([*words, "--json"])
        assert found[0] == code, found
        return json.loads(found[1])

    with inside(tmp_path):
        yield act


def store() -> Store:
    return Store("sqlite:///study.db")


def asked(act: Callable[..., Any]) -> dict[str, int]:
    return {name: row["asked"] for name, row in act("label", "status")["experts"].items()}


def test_open_questions_move_and_the_design_stays(study: Callable[..., Any]) -> None:
    study("label", "route")
    before = asked(study)
    with store() as here:
        drawn, labels = here.content.read_questions(), here.columns.read_labels(here.columns.read_index())
    moved = study("label", "reassign", "ana", "cem", "--reason", "holiday")
    assert moved == {"moved": before["ana"], "repeats": 0, "kept": {}}
    now = asked(study)
    assert now.get("ana", 0) == 0
    assert now["cem"] == before["cem"] + before["ana"]
    with store() as here:
        assert here.content.read_questions() == drawn
        events = [e for e in here.audit.read_records() if e.kind == "handover"]
        assert len(events) == before["ana"]
        assert events[0].detail == {"from": "ana", "to": "cem", "place": None}
        assert events[0].comment == "holiday"
    assert study("label", "simulate", "--key", "key.csv")["new"] == 60
    with store() as here:
        after = here.columns.read_labels(here.columns.read_index())
        assert after.drawn is not None
        assert labels.drawn is not None
        assert (
            after.drawn.experts == labels.drawn.experts
        )  # each queue counts for the expert for whom it was drawn
        assert Counter(a.expert for a in here.content.read_answers())["ana"] == 0
        assert {a.question.expert for a in here.content.read_answers()} == {"bea", "cem", "dua"}
    assert study("label", "route")["new"] == 0  # repeating the draw adds no questions


def test_answers_stay_and_files_follow(study: Callable[..., Any], tmp_path: Path) -> None:
    study("label", "route")
    study("label", "export", "--format", "jsonl")
    rows = [json.loads(line) for line in Path("questions/questions-ana.jsonl").read_text().splitlines()]
    first, rest = rows[:4], rows[4:]
    Path("first.jsonl").write_text("".join(json.dumps({**row, "answer": "no"}) + "\n" for row in first))
    study("label", "import", "first.jsonl")
    assert study("label", "reassign", "ana", "dua")["moved"] == len(rest)
    late = "".join(json.dumps({**row, "answer": "no"}) + "\n" for row in rest)
    Path("late.jsonl").write_text(late)
    # these questions belong to another expert now
    assert "dua" in study("label", "import", "late.jsonl", code=2)["error"]
    Path("dua.jsonl").write_text(late.replace('"expert": "ana"', '"expert": "dua"'))
    assert study("label", "import", "dua.jsonl")["new"] == len(rest)
    people = study("label", "status")["experts"]
    assert (people["ana"]["answered"], people["ana"]["open"]) == (4, 0)
    again = study("label", "reassign", "ana", "cem", code=2)
    assert "no question of 'ana' is open" in again["error"]


def test_only_an_expert_of_the_class_takes_over(study: Callable[..., Any]) -> None:
    study("label", "route")
    refused = study("label", "reassign", "ana", "bea", code=2)["error"]
    assert "judges none of the classes" in refused
    both = study("label", "reassign", "cem", "bea")
    assert both["moved"] > 0
    (why,) = both["kept"]
    assert why == "bea does not judge the class"
    for words in (["ana", "ana"], ["ana", "nobody"], ["nobody", "ana"]):
        study("label", "reassign", *words, code=2)


def test_an_absent_expert_gets_no_new_question(study: Callable[..., Any]) -> None:
    until = (datetime.now(UTC).date() + timedelta(days=20)).isoformat()
    study("experts", "absent", "ana", "--until", until, "--reason", "holiday")
    study("label", "route")
    assert "ana" not in asked(study)
    refused = study("label", "reassign", "dua", "ana", code=2)["error"]
    assert "'ana' is away" in refused
    assert study("experts", "return", "ana")["was_away"]
    assert not study("experts", "return", "ana")["was_away"]
    assert study("label", "reassign", "dua", "ana")["moved"] > 0
    for day in ("soon", "2020-01-01", "2026-13-01"):
        assert "--until" in study("experts", "absent", "ana", "--until", day, code=2)["error"]


def test_questions_wait_for_the_only_expert_of_a_class(study: Callable[..., Any]) -> None:
    text = Path("experts.toml").read_text().replace('["red", "green"]', '["red"]')
    Path("experts.toml").write_text(text)
    until = (datetime.now(UTC).date() + timedelta(days=3)).isoformat()
    study("experts", "absent", "bea", "--until", until)
    study("label", "route")
    assert asked(study)["bea"] > 0
    study("experts", "absent", "bea")
    assert "no expert is present for the class 'green'" in study("label", "route", code=2)["error"]


def test_a_replaced_expert_is_asked_no_more(study: Callable[..., Any]) -> None:
    study("label", "route")
    before = asked(study)
    assert study("experts", "replace", "dua", "ana")["moved"] == before["dua"]
    now = asked(study)
    assert now["ana"] == before["ana"] + before["dua"]
    with store() as here:
        assert here.people.read_absences()["dua"].is_for_good
        kinds = [e.kind for e in here.audit.read_records() if e.kind in ("handover", "absent")]
    assert Counter(kinds) == {"handover": before["dua"], "absent": 1}
    # After a second reassignment, the expert for whom a question was drawn is still recorded.
    assert study("label", "reassign", "ana", "cem")["moved"] == now["ana"]
    with store() as here:
        givers = Counter(h.giver for h in here.people.read_handovers().values())
    assert givers == {"ana": before["ana"], "dua": before["dua"]}


def test_interrupted_replacement_hands_nothing_over(
    study: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    study("label", "route")
    before = asked(study)
    with monkeypatch.context() as patch:
        patch.setattr(people, "note_absence", fail)
        study("experts", "replace", "dua", "ana", code=2)
    assert asked(study) == before
    assert study("experts", "replace", "dua", "ana")["moved"] == before["dua"]


def test_a_panel_hands_nothing_over(study: Callable[..., Any]) -> None:
    text = Path("study.toml").read_text() + '[experts]\nprotocol = "panel"\nannotators_per_item = 2\n'
    Path("study.toml").write_text(text)
    everybody = "".join(f'[[expert]]\nname = "{n}"\nclasses = ["*"]\n' for n in ("ana", "bea", "cem"))
    Path("experts.toml").write_text(everybody)
    study("label", "route")
    assert "a panel's annotators were drawn" in study("label", "reassign", "ana", "bea", code=2)["error"]


def test_reassigned_control_questions_count_for_the_new_expert(study: Callable[..., Any]) -> None:
    text = Path("study.toml").read_text() + '[experts]\ngold = "gold.csv"\nrepeat = 0.2\noverlap = 0.3\n'
    Path("study.toml").write_text(text)
    gold = [f"g{j},Gold item number {j}.,{CLASSES[j % 2]}" for j in range(20)]
    Path("gold.csv").write_text("\n".join(["id,text,answer", *gold]) + "\n")
    study("label", "route")
    study("label", "reassign", "ana", "dua")
    truth = Path("key.csv").read_text() + "".join(f"g{j},{CLASSES[j % 2]}\n" for j in range(20))
    Path("key.csv").write_text(truth)
    study("label", "simulate", "--key", "key.csv")
    quality = {row["name"]: row for row in study("experts", "quality")["quality"]}
    assert "ana" not in quality
    assert all(row["answered"] == row["asked"] for row in quality.values())


def test_reminders_tell_each_their_own_progress(study: Callable[..., Any]) -> None:
    today = datetime.now(UTC).date()
    due = (today + timedelta(days=3)).isoformat()
    Path("study.toml").write_text(Path("study.toml").read_text() + f"[experts]\ndeadline = {due}\n")
    assert "no questions yet" in study("label", "remind", code=2)["error"]
    study("label", "route")
    study("label", "export", "--format", "jsonl")
    rows = [json.loads(line) for line in Path("questions/questions-ana.jsonl").read_text().splitlines()]
    Path("ana.jsonl").write_text("".join(json.dumps({**row, "answer": "no"}) + "\n" for row in rows[:-1]))
    study("label", "import", "ana.jsonl")
    study("experts", "absent", "bea", "--until", due)
    found = study("label", "remind")["reminders"]
    assert [r["expert"] for r in found][-1] == "bea"
    by = {r["expert"]: r for r in found}
    assert by["bea"]["away"] == due
    n = len(rows)
    assert by["ana"]["text"] == (
        f"ana: you have answered {n - 1} of {n} questions of “people”. 1 is left. "
        f"Please answer by {due} (in 3 days)."
    )
    assert {r["expert"] for r in study("label", "remind", "cem")["reminders"]} == {"cem"}
    study("label", "remind", "nobody", code=2)
    late = (today - timedelta(days=1)).isoformat()
    Path("study.toml").write_text(Path("study.toml").read_text().replace(due, late))
    assert study("label", "remind", "ana")["reminders"][0]["text"].endswith(f"due on {late}, 1 day ago.")
    Path("ana.jsonl").write_text(json.dumps({**rows[-1], "answer": "no"}) + "\n")
    study("label", "import", "ana.jsonl")
    assert "nothing is open for ana" in study("label", "remind", "ana", code=2)["error"]


def test_an_estimate_names_those_who_have_the_reassigned_questions(study: Callable[..., Any]) -> None:
    study("label", "route")
    study("label", "export")
    key = dict(line.rsplit(",", 1) for line in Path("key.csv").read_text().splitlines()[1:])
    for path in Path("questions").glob("*.csv"):
        with path.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            true = key[f"i{row['text'].split()[2]}"]
            row["answer"] = "" if "ana" in path.stem else "yes" if true in row["question"] else "no"
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    study("label", "import", *map(str, sorted(Path("questions").glob("*.csv"))))
    Path("m.csv").write_text(Path("key.csv").read_text().replace("label", "prediction"))
    study("predictions", "import", "m.csv", "--model", "m")

    def why() -> str:
        return str(study("estimate")["models"]["m"]["undefined"]["ml"])

    assert why().startswith("ana has not answered yet")
    study("label", "reassign", "ana", "cem")
    assert why().startswith("cem (for ana) has not answered yet")
    assert "cem (for ana)" in call(["estimate"])[1]


def test_a_passed_over_question_is_named_with_the_expert_who_has_it(study: Callable[..., Any]) -> None:
    study("label", "route")
    with store() as here:
        own = {q.id for q in here.content.read_questions() if q.expert == "ana"}
    study("label", "reassign", "ana", "cem")
    study("label", "export", "--format", "jsonl")
    rows = [json.loads(line) for line in Path("questions/questions-cem.jsonl").read_text().splitlines()]
    first, *_, last = (row for row in rows if row["question_id"] in own)
    Path("cem.jsonl").write_text(json.dumps({**last, "answer": "no"}) + "\n")
    study("label", "import", "cem.jsonl")
    status = study("label", "status")
    assert list(status["passed"]) == ["cem"]
    assert status["passed"]["cem"][0] == first["question_id"]
    assert status["experts"]["cem"]["passed"] == len(own) - 1
    assert "ana" not in status["experts"]


def test_answers_to_reassigned_questions_are_reported_for_the_person_who_gave_them(
    study: Callable[..., Any],
) -> None:
    study("label", "route")
    study("label", "reassign", "ana", "cem")
    study("label", "simulate", "--key", "key.csv", "--specificity", "0.9")
    Path("m.csv").write_text(Path("key.csv").read_text().replace("label", "prediction"))
    study("predictions", "import", "m.csv", "--model", "m")
    report = study_report()
    status = study("label", "status")["experts"]
    told = {e.name: (e.asked, e.yes, e.no) for e in report.experts}
    assert told == {name: (row["asked"], row["yes"], row["no"]) for name, row in status.items()}
    assert "ana" not in told
    (check,) = (c for c in report.models[0].checks if c.name == "yes_rate_by_expert")
    assert re.search(r"furthest off: (bea|cem|dua),", check.message)


def test_everybody_whose_answers_are_needed_is_named(
    study: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    study("label", "route")
    study("label", "reassign", "ana", "cem")
    with store() as here:
        asked = [q for q in here.content.read_questions() if q.expert == "cem"]
        here.content.add_answers([Answer(q, "cem", Verdict.YES, "test") for q in asked])
    Path("m.csv").write_text(Path("key.csv").read_text().replace("label", "prediction"))
    study("predictions", "import", "m.csv", "--model", "m")
    told = " ".join(call(["estimate"])[1].split())
    assert "No accuracy yet: bea, cem (for ana), dua have not answered yet" in told
