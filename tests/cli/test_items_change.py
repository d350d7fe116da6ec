"""Items that are removed or corrected while a study goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main

CLASSES = ("flu", "heart", "bone", "skin")
TEXTS = (
    "fever and cough",
    "zebrafish broken leg",
    "chest pain",
    "rash on both arms",
    "a broken arm",
    "flutter",
)
Oversight = Callable[..., Any]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Oversight:
    """A study with answers and a model, in the present folder."""
    monkeypatch.chdir(tmp_path)
    write_items(*TEXTS)
    names = json.dumps(CLASSES)
    Path("study.toml").write_text(
        f'[study]\nname = "ward"\n[items]\nfile = "items.csv"\nclasses = {names}\n[experts]\nrepeat = 0.5\n'
    )
    Path("experts.toml").write_text(f'[[expert]]\nname = "ana"\nclasses = {names}\n')
    rows = "".join(f"i{j},{CLASSES[j % 4]}\n" for j in range(len(TEXTS)))
    Path("key.csv").write_text(f"id,label\n{rows}")
    Path("m.csv").write_text(f"id,prediction\n{rows}")
    oversight("label", "route")
    oversight("label", "simulate", "--key", "key.csv")
    oversight("predictions", "import", "m.csv", "--model", "m")
    return oversight


def write_items(*texts: str) -> None:
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},{text}\n" for j, text in enumerate(texts)))


def stored_bytes() -> bytes:
    return b"".join(path.read_bytes() for path in Path().glob("study.db*"))


def test_removed_item_is_asked_and_counted_no_more(study: Oversight) -> None:
    done = study("items", "remove", "i1", "--reason", "the patient withdrew")
    assert (done["item"], done["predictions"], done["left"]) == ("i1", 1, 5)
    assert study("estimate")["models"]["m"]["items"]["of"] == 5
    assert study("store", "verify")["holds"]
    assert study("label", "route")["new"] == 0, "the file still has the item"
    assert b"zebrafish" in stored_bytes(), "the trail keeps the text unless it is erased"
    assert "zebrafish" not in Path(study("label", "audit")["file"]).read_text()
    assert study("store", "verify", "audit.jsonl")["holds"]


def test_erased_item_leaves_no_text_in_the_database(study: Oversight) -> None:
    head = study("store", "verify")["head"]
    study("items", "remove", "i1", "--reason", "the patient withdrew", "--erase")
    assert b"zebrafish" not in stored_bytes()
    checked = study("store", "verify", "--head", head)
    assert checked["holds"]
    assert checked["covered"] is not None
    assert checked["redacted"]


def test_missing_item_is_named_until_it_is_removed(
    study: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("items.csv").write_text(Path("items.csv").read_text().replace("i2,chest pain\n", ""))
    for verb in (("label", "status"), ("estimate",), ("store", "verify"), ("label", "route")):
        capsys.readouterr()
        assert main([*verb]) == 0
        assert "no longer in items.csv: i2" in capsys.readouterr().err
    study("items", "remove", "i2", "--reason", "gone")
    capsys.readouterr()
    assert main(["estimate"]) == 0
    assert "no longer" not in capsys.readouterr().err


def test_removed_item_that_the_file_has_again_is_named(
    study: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study("items", "check")["removed"] == []
    study("items", "remove", "i2", "--reason", "gone")
    write_items(*TEXTS[:2], "another case", *TEXTS[3:])
    assert study("items", "check")["removed"] == ["i2"]
    capsys.readouterr()
    assert main(["items", "check"]) == 0
    assert "left out, because they were removed from the study: i2; a new item" in capsys.readouterr().out


def test_changed_metadata_is_named_and_the_stored_value_stays(
    study: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, items = Path("study.toml").read_text(), Path("items.csv").read_text()
    Path("study.toml").write_text(settings.replace("[experts]", 'meta = ["ward"]\n[experts]'))

    def write_wards(last: str) -> None:
        head, *rows = items.splitlines()
        wards = ["a"] * (len(rows) - 1) + [last]
        lines = [f"{row},{ward}" for row, ward in zip(rows, wards, strict=True)]
        Path("items.csv").write_text("\n".join([f"{head},ward", *lines, ""]))

    write_wards("a")
    study("label", "route")  # also adds the new column to the stored items
    for ward, is_named in (("b", True), ("a", False)):
        write_wards(ward)
        for verb in (("items", "check"), ("estimate",), ("label", "route")):
            capsys.readouterr()
            assert main([*verb]) == 0
            said = capsys.readouterr().err
            told = "database differ in 1 value: i5 (ward: 'b', stored 'a'). The study keeps using"
            assert (told in said) is is_named, said


def test_corrected_item_keeps_its_answers_or_is_asked_again(study: Oversight) -> None:
    before = study("estimate")["models"]["m"]
    write_items("fever and a cough", *TEXTS[1:])
    study("items", "correct", "i0", "--reason", "typo", "--answers", "keep")
    assert study("estimate")["models"]["m"] == before
    write_items("no fever", *TEXTS[1:])
    again = study("items", "correct", "i0", "--reason", "wrong", "--answers", "withdraw")
    assert again["questions"] == again["answers"] > 0
    status = study("label", "status")
    assert status["experts"]["ana"]["open"] == again["questions"]
    assert study("store", "verify")["holds"]
    study("label", "simulate", "--key", "key.csv")
    assert study("store", "verify")["holds"]


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (("left hand", "right hand", "both"), None),
        (("right hand", "the left hand", "both"), "'right hand'"),
        (("left hand", "right hand", "none of them"), "'none of them'"),
    ],
)
def test_answers_are_kept_only_if_options_keep_their_meaning(
    options: tuple[str, ...],
    refused: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("the left hand", "right hand", "both")
    item = {"id": "a", "text": "Which hand hurts?"}
    Path("items.jsonl").write_text(json.dumps({**item, "options": names}) + "\n")
    Path("study.toml").write_text('[study]\nname = "ward"\n[items]\nfile = "items.jsonl"\n')
    Path("experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n')
    oversight("label", "route")
    Path("items.jsonl").write_text(json.dumps({**item, "options": options}) + "\n")
    capsys.readouterr()
    code = main(["items", "correct", "a", "--reason", "typo", "--answers", "keep"])
    assert code == (2 if refused else 0)
    assert (refused or "") in capsys.readouterr().err
    assert main(["items", "correct", "a", "--reason", "typo", "--answers", "withdraw"]) == (
        0 if refused else 2
    )


def test_removed_items_leave_the_pool_that_items_are_drawn_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    """The pool has no more items than the study, and as many drawn ones as there are questions."""
    monkeypatch.chdir(tmp_path)
    truth = {f"i{j}": CLASSES[j % 4] for j in range(120)}
    write_items(*(f"note {j}" for j in range(120)))
    Path("study.toml").write_text(
        f'[study]\nname = "ward"\nseed = 3\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
    )
    Path("experts.toml").write_text(f'[[expert]]\nname = "ana"\nclasses = {json.dumps(CLASSES)}\n')
    Path("key.csv").write_text("id,label\n" + "".join(f"{i},{c}\n" for i, c in truth.items()))
    for model, step in (("a", 3), ("b", 5)):
        said = {i: c if j % step else CLASSES[(j + 1) % 4] for j, (i, c) in enumerate(truth.items())}
        Path("m.csv").write_text("id,prediction\n" + "".join(f"{i},{c}\n" for i, c in said.items()))
        oversight("predictions", "import", "m.csv", "--model", model)
    oversight("label", "route", "--questions", "60")
    oversight("label", "simulate", "--key", "key.csv")
    assert oversight("estimate")["items_drawn"] == {"drawn": 60, "of": 120}
    for item in ("i1", "i2", "i3", "i4", "i5", "i6"):
        oversight("items", "remove", item, "--reason", "not ours")
    after = oversight("estimate")
    assert after["items_drawn"]["of"] == 114
    assert after["items_drawn"]["drawn"] == after["questions"]["drawn"]
    assert oversight("store", "verify")["holds"]
