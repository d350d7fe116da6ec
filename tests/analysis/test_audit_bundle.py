"""A bundle, checked elsewhere: every altered byte is found, and its line named."""

from __future__ import annotations

import json
import random
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.analysis import audit_bundle, audit_study
from oversight.harness.config import read_study
from oversight.harness.store import START
from tests.analysis.audited_study import lay_out_audited
from tests.analysis.tampering import WHERE, tamper

Oversight = Callable[..., Any]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited") / "study"
    lay_out_audited(folder)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(finished, tmp_path / "study")
    monkeypatch.chdir(tmp_path / "study")
    return tmp_path / "study"


def read_lines(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (folder / "audit.jsonl").read_text().splitlines())
    return [line for line in lines if line["record"] == kind]


def test_bundle_verifies_and_has_the_events_of_the_study(folder: Path, oversight: Oversight) -> None:
    done = oversight("label", "audit")
    found = oversight("store", "verify", "audit.jsonl", "--head", done["head"])
    study = audit_study(read_study("study.toml"))
    assert found["holds"]
    assert found["checked_against_head"]
    assert (found["events"], found["answers"], found["uncovered"]) == (study.events, study.answers, 0)
    assert (found["link"], found["lines"]) == (study.head, done["lines"])
    assert stat.S_IMODE(Path("audit.jsonl").stat().st_mode) == 0o600
    assert len(read_lines(folder, "handover")) == 1
    assert len(read_lines(folder, "questions")) == 60
    assert read_lines(folder, "questions")[0]["propensity"] == pytest.approx(1 / 3)
    (end,) = read_lines(folder, "end")
    assert end["lines"] == done["lines"]


def test_the_same_study_gives_the_same_bytes(folder: Path, oversight: Oversight) -> None:
    done = oversight("label", "audit")
    before = Path("audit.jsonl").read_bytes()
    assert oversight("label", "audit") == done
    assert Path("audit.jsonl").read_bytes() == before
    assert not list(folder.glob("*.part"))


def test_texts_of_comments_are_in_it_only_if_asked_for(folder: Path, oversight: Oversight) -> None:
    oversight("label", "audit")
    assert b"see page 3" not in Path("audit.jsonl").read_bytes()
    assert b"note 1" not in Path("audit.jsonl").read_bytes()  # an item's text
    oversight("label", "audit", "--comments")
    assert b"see page 3" in Path("audit.jsonl").read_bytes()
    assert oversight("store", "verify", "audit.jsonl")["holds"]


def test_a_file_that_is_no_audit_of_this_study_is_kept(
    folder: Path, oversight: Oversight, tmp_path: Path
) -> None:
    Path("notes.jsonl").write_text("mine\n")
    assert "not an audit of the study" in oversight("label", "audit", "notes.jsonl", code=2)["error"]
    assert Path("notes.jsonl").read_text() == "mine\n"
    oversight("label", "audit")
    other = lay_out_audited(tmp_path / "other")
    assert other.study.name == "s"
    words = ("--study", tmp_path / "other" / "study.toml", "audit.jsonl")
    assert "another study, also named 's'" in oversight("label", "audit", *words, code=2)["error"]
    assert "is not a file" in oversight("label", "audit", tmp_path, code=2)["error"]
    Path("file").write_text("")
    assert "cannot be written" in oversight("label", "audit", "file/audit.jsonl", code=2)["error"]


def test_a_database_that_is_damaged_leaves_no_half_of_a_file(folder: Path, oversight: Oversight) -> None:
    tamper(folder, "UPDATE audit_event SET detail = '{' WHERE kind = 'batch'")
    assert "damaged" in oversight("label", "audit", code=2)["error"]
    assert not list(folder.glob("audit.jsonl*"))


def test_file_that_is_no_audit_is_refused(folder: Path, oversight: Oversight) -> None:
    for text in (b"", b"\n", b"{}\n{}\n", b"\x00" * 100, b'{"format": "other"}\n', b"[" * 10_000):
        Path("other").write_bytes(text)
        assert "was not written by" in oversight("store", "verify", "other", code=2)["error"]
    assert "cannot be read" in oversight("store", "verify", "none.jsonl", code=2)["error"]
    assert "cannot be read" in oversight("store", "verify", folder, code=2)["error"]


@pytest.fixture
def bundle(folder: Path, oversight: Oversight) -> tuple[Path, str]:
    return folder / "audit.jsonl", oversight("label", "audit")["head"]


def test_a_byte_flipped_anywhere_is_found_in_its_line(bundle: tuple[Path, str]) -> None:
    path, head = bundle
    whole, draw = path.read_bytes(), random.Random(3)  # noqa: S311  nothing secret
    for _ in range(200):
        at = draw.randrange(len(whole))
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        found = audit_bundle(path, head)
        line = whole.count(b"\n", 0, at) + 1
        told = found.findings.shown
        assert any(re.search(rf"\b{line}\b", text) for text in told), (at, line, told)
        assert audit_bundle(path).findings.number  # the break is also found without a head


def test_removed_repeated_exchanged_and_added_lines_are_found(bundle: tuple[Path, str]) -> None:
    path, head = bundle
    lines = path.read_bytes().splitlines(keepends=True)

    def told(changed: list[bytes]) -> list[str]:
        path.write_bytes(b"".join(changed))
        found = audit_bundle(path, head).findings
        assert found.number
        return found.shown

    for at in (0, 1, 7, len(lines) // 2, len(lines) - 1):
        without = told([*lines[:at], *lines[at + 1 :]])
        assert any(re.search(rf"line {at + 1}\b", text) for text in without), without
        twice = told([*lines[: at + 1], *lines[at:]])
        assert any(re.search(rf"line {at + 1}\b", text) or "added" in text for text in twice), twice
    exchanged = told([*lines[:5], lines[6], lines[5], *lines[7:]])
    assert any("line 6" in text for text in exchanged), exchanged
    assert any("line 7" in text for text in exchanged), exchanged
    assert any("lines 6 to 9 are missing" in text for text in told([*lines[:5], *lines[9:]]))
    assert any("line 6" in text for text in told([*lines[:5], lines[20], *lines[5:]]))
    assert any("cut" in text for text in told([*lines[:-1], lines[-1][:-10]]))
    assert any("closing line is missing" in text for text in told(lines[:-1]))
    assert any("closing line is missing" in text for text in told(lines[:1]))
    assert any("added" in text for text in told([*lines, b"\n"]))
    path.write_bytes(b"".join(lines))
    assert not audit_bundle(path, head).findings.number


def test_another_head_is_told_and_a_head_of_the_study_covers_its_events(
    bundle: tuple[Path, str], oversight: Oversight
) -> None:
    path, _ = bundle
    (told,) = oversight("store", "verify", path, "--head", START.replace("0", "a"), code=1)["findings"]
    assert "neither the head of the file nor a link" in told
    study = oversight("store", "verify")
    found = oversight("store", "verify", path, "--head", study["head"])
    assert (found["holds"], found["covered"]) == (True, study["events"])
    assert oversight("store", "verify", path, "--head", START)["covered"] == 0


def chain_anew(path: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Forge a bundle with a valid chain; `change` returns the new record, or None to leave the record out."""
    from oversight.harness.analysis.audit.bundle_file import WrittenBundle

    lines = WrittenBundle()
    written = []
    for line in path.read_text().splitlines():
        told = json.loads(line)
        del told["line"], told["chain"]
        if told["record"] == "end":
            told |= {"counts": dict(lines.counts), "lines": lines.lines + 1}
        changed = change(told)
        if changed is not None:
            written.append(lines.write_line(changed.pop("record"), changed))
    path.write_bytes(b"".join(written))


def of_single(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    """A change of the answers that came one by one; all other records stay."""

    def changed(told: dict[str, Any]) -> dict[str, Any] | None:
        is_one = told["record"] == "answer" and "event" in told
        return change(told) if is_one else told

    return changed


def without(record: str) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    return lambda told: None if told["record"] == record else told


def with_head(**wrong: str) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    return lambda told: told | wrong if told["record"] == "head" else told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of_single(lambda told: told | {"value": "skip"}), "its value is 'skip', but event"),
        (of_single(lambda told: told | {"person": "zoe"}), "its person is 'zoe', but event"),
        (of_single(lambda told: told | {"source": "import"}), "its source is 'import', but event"),
        (of_single(lambda told: told | {"last_event": 0, "event": 0}), "the answer names event 0"),
        (of_single(lambda _: None), "is missing"),
        (without("answer"), "is missing"),
        (without("handover"), "is not handed over, but event"),
        (with_head(begins=START), "'begins' is not the link of the first event"),
        (with_head(link=START), "'link' is not the link of the last event"),
        (
            lambda told: told | {"not_covered": 7} if told["record"] == "end" else told,
            "answers without an event",
        ),
        (
            lambda told: told | {"giver": "zoe"} if told["record"] == "handover" else told,
            "was put to 'zoe'",
        ),
    ],
)
def test_a_file_chained_anew_is_held_against_its_own_events(
    bundle: tuple[Path, str], change: Any, message: str
) -> None:
    path, _ = bundle
    chain_anew(path, lambda told: told)
    assert not audit_bundle(path).findings.number  # rewriting the chain alone causes no finding
    chain_anew(path, change)
    assert any(message in text for text in audit_bundle(path).findings.shown)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE answer SET verdict = 'skip' WHERE {last}", "differ from those received"),
        ("UPDATE audit_event SET at = '2020' WHERE position = 2", "its link is wrong"),
        (
            "UPDATE question SET propensity = 0.5 WHERE rowid = 7",
            ("questions: altered or replaced after the freeze"),
        ),
        ("DELETE FROM question WHERE rowid = 7", "60 were frozen, 59 are stored"),
    ],
)
def test_alteration_before_the_export_is_found(
    folder: Path, oversight: Oversight, sql: str, told: str
) -> None:
    tamper(folder, sql.format_map(WHERE))
    oversight("label", "audit")
    assert any(told in text for text in oversight("store", "verify", "audit.jsonl", code=1)["findings"])


def test_chained_line_with_nonsense_is_found(bundle: tuple[Path, str]) -> None:
    from oversight.harness.analysis.audit.bundle_file import WrittenBundle

    path, _ = bundle
    for record in ("event", "answer", "questions", "head", "end"):
        lines = WrittenBundle()
        told = {"format": "oversight-audit", "version": 1, "study": "s"}
        nonsense = [lines.write_line(record, {"event": 3, "table": []}) for _ in range(30)]
        path.write_bytes(b"".join([lines.write_line("head", told), *nonsense]))
        assert audit_bundle(path).findings.number


def test_commands_of_audit_md_run(folder: Path, oversight: Oversight) -> None:
    text = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:bash|console)\n(.*?)```", text, re.DOTALL)
    lines = [line.removeprefix("$ ").split("#")[0].split() for block in blocks for line in block.splitlines()]
    assert len(lines) == 8
    for _, *words in lines:
        given = audit_bundle("audit.jsonl").head if "--head" in words and "audit.jsonl" in words else START
        told = [given if word == "0" * 64 else word for word in words if word != "--json"]
        assert "error" not in oversight(*told)
