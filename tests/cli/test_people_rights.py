"""An expert's stored data can be exported, redacted and erased, and the audit still holds."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.store import withdrawal
from oversight.harness.store.engines import addresses
from oversight.harness.store.engines.retrying import RetryingConnection

CLASSES = ("flu", "heart", "bone", "skin")
N = 24
Oversight = Callable[..., Any]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Callable[..., Oversight]:
    """A study that Annabella and bea answered from files, and Annabella was away from."""
    monkeypatch.chdir(tmp_path)

    def lay_out(settings: str = "") -> Oversight:
        Path("items.csv").write_text("id,text\n" + "".join(f"i{j},case {j}\n" for j in range(N)))
        Path("study.toml").write_text(
            f'[study]\nname = "ward"\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
            f"[experts]\nrepeat = 0.3\n{settings}"
        )
        Path("experts.toml").write_text(write_expert("Annabella") + write_expert("bea"))
        rows = "".join(f"i{j},{CLASSES[j % 4]}\n" for j in range(N))
        Path("m.csv").write_text(f"id,prediction\n{rows}")
        oversight("label", "route")
        oversight("label", "export")
        for name in ("Annabella", "bea"):
            fill(Path(f"questions/questions-{name}.csv"))
        oversight("label", "import", *Path("questions").glob("*.csv"))
        oversight("experts", "absent", "Annabella", "--reason", "an operation")
        oversight("predictions", "import", "m.csv", "--model", "m")
        return oversight

    return lay_out


def write_expert(name: str) -> str:
    return f'[[expert]]\nname = "{name}"\nclasses = {json.dumps(CLASSES)}\n'


def fill(path: Path) -> None:
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for number, row in enumerate(rows):
        row |= {"answer": ("yes", "no")[number % 2], "comment": "my secretword"}
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def stored_bytes() -> bytes:
    return b"".join(path.read_bytes() for path in Path().glob("study.db*"))


def test_export_names_everything_stored(study: Callable[..., Oversight]) -> None:
    oversight = study()
    oversight("experts", "export", "Annabella")
    told = json.loads(Path("Annabella.json").read_text())
    assert told["tables"]["answer"][0]["comment"] == "my secretword"
    assert told["tables"]["absence"][0]["reason"] == "an operation"
    assert told["events"][0]["kind"] == "absent"
    # search with quotes, because hexadecimal ids may contain these letters
    assert '"bea"' not in json.dumps(told)
    oversight("experts", "export", "nobody", code=2)


def test_forgotten_texts_are_gone_and_the_audit_holds(study: Callable[..., Oversight]) -> None:
    oversight = study()
    head = oversight("store", "verify")["head"]
    oversight("label", "audit")
    assert "an operation" not in Path("audit.jsonl").read_text()
    oversight("experts", "forget", "Annabella")
    assert b"an operation" not in stored_bytes()
    with_comments = oversight("experts", "export", "Annabella")
    assert "secretword" not in Path(with_comments["file"]).read_text()
    checked = oversight("store", "verify", "--head", head)
    assert checked["holds"]
    assert checked["covered"]


def test_erased_expert_leaves_labels_without_a_name(study: Callable[..., Oversight]) -> None:
    oversight = study()
    before, head = oversight("estimate")["models"]["m"], oversight("store", "verify")["head"]
    assert "the roster" in oversight("experts", "erase", "Annabella", code=2)["error"]
    Path("experts.toml").write_text(write_expert("bea"))
    done = oversight("experts", "erase", "Annabella")
    assert done["answers"] > 0
    assert done["open"] == 0
    assert b"Annabella" not in stored_bytes()
    assert oversight("estimate")["models"]["m"] == before
    checked = oversight("store", "verify", "--head", head)
    assert checked["holds"], checked["findings"]
    assert checked["covered"]
    oversight("label", "audit")
    assert "Annabella" not in Path("audit.jsonl").read_text()
    assert oversight("store", "verify", "audit.jsonl")["holds"]
    oversight("label", "status")
    oversight("label", "route")


def test_erased_expert_without_labels_leaves_open_questions(study: Callable[..., Oversight]) -> None:
    oversight = study("[people]\nkeep_labels = false\n")
    Path("experts.toml").write_text(write_expert("bea"))
    done = oversight("experts", "erase", "Annabella")
    assert done["answers"] == 0
    assert done["open"] > 0
    assert oversight("store", "verify")["holds"]
    oversight("label", "reassign", done["name"], "bea")
    assert oversight("store", "verify")["holds"]
    oversight("label", "export", "again")
    assert b"Annabella" not in stored_bytes()


def test_erased_annotator_of_a_panel_has_no_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},case {j}\n" for j in range(6)))
    Path("study.toml").write_text(
        f'[study]\nname = "ward"\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
        '[experts]\nprotocol = "panel"\nannotators_per_item = 2\n'
    )
    roster = [f'[[expert]]\nname = "{name}"\nclasses = ["*"]\n' for name in ("Annabella", "bea", "cy")]
    Path("experts.toml").write_text("".join(roster))
    oversight("label", "route")
    Path("experts.toml").write_text("".join(roster[1:]))
    capsys.readouterr()
    assert main(["experts", "erase", "Annabella"]) == 0
    out = capsys.readouterr().out
    assert "4 ratings stay missing; nobody can rate for another annotator" in out
    assert "reassign" not in out


def test_altered_redaction_is_found(study: Callable[..., Oversight]) -> None:
    import sqlite3

    oversight = study()
    Path("experts.toml").write_text(write_expert("bea"))
    oversight("experts", "erase", "Annabella")
    with sqlite3.connect("study.db") as connection:
        connection.execute("UPDATE audit_event SET person = 'x' WHERE kind = 'absent'")
    assert "was redacted" in oversight("store", "verify", code=1)["findings"][0]


def test_later_file_changes_and_withdraws_answers(study: Callable[..., Oversight]) -> None:
    oversight = study()
    path = Path("questions/questions-bea.csv")
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    before = oversight("label", "status")["experts"]["bea"]["answered"]
    rows[0]["answer"], rows[1]["answer"] = "no", "withdraw"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    oversight("label", "import", path, code=2)
    assert oversight("label", "import", path, "--change")["new"] == 2
    assert oversight("label", "import", path, "--change")["new"] == 0
    assert oversight("label", "status")["experts"]["bea"]["answered"] == before - 1
    oversight("experts", "export", "bea")
    events = [event["kind"] for event in json.loads(Path("bea.json").read_text())["events"]]
    assert events == ["answer", "withdrawn"]
    assert oversight("store", "verify")["holds"]


def test_erasure_without_room_to_scrub_says_so_and_leaves_no_name(
    study: Callable[..., Oversight], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Keeping(RetryingConnection):
        """A connection to a full disk, of an SQLite that does not overwrite removed content by default."""

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            super().cursor().execute("PRAGMA secure_delete=OFF")

        def execute(self, *words: Any) -> sqlite3.Cursor:
            if words == ("VACUUM",):
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(*words)

    monkeypatch.setattr(withdrawal, "RetryingConnection", Keeping)
    monkeypatch.setattr(addresses, "RetryingConnection", Keeping)
    oversight = study()
    Path("experts.toml").write_text(write_expert("bea"))
    error = oversight("experts", "erase", "Annabella", code=1)["error"]
    assert "free space and run the same command again" in error
    oversight("experts", "erase", "Annabella", code=2)
    assert b"Annabella" not in stored_bytes()
