"""Commands can read the files that other commands write, for every form of the ids."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from oversight.harness.cli.main import main

IDS = (
    "=1+1",
    "'quoted",
    "'=both",
    "=both",
    "-5",
    "+7",
    "@x",
    "007",
    "1e5",
    "ä→",
    "q-1",
    "a,b",
    '"cited"',
    "2026-01-02",
)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Path("items.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("id", "text"), *((name, f"text of {name}") for name in IDS)])
    with Path("p.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("id", "prediction"), *((name, "xy"[len(name) % 2]) for name in IDS)])
    Path("study.toml").write_text(
        '[study]\nname = "back"\n[items]\nfile = "items.csv"\nclasses = ["x", "y"]\n'
        '[experts]\nprotocol = "panel"\nannotators_per_item = 2\n'
    )
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{name}"\nclasses = ["*"]\n' for name in ("=ana", "'-bo"))
    )
    assert main(["label", "route"]) == 0
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    capsys.readouterr()
    assert main([*words, "--json"]) == 0, capsys.readouterr().err
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_exported_predictions_and_items_are_imported_again(
    ending: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "predictions", "import", "p.csv", "--model", "m")
    told(capsys, "predictions", "export", f"out.{ending}")
    told(capsys, "items", "export", "again.jsonl")
    text = (
        Path("study.toml")
        .read_text()
        .replace("items.csv", "again.jsonl")
        .replace('name = "back"', 'name = "again"')
    )
    Path("again.toml").write_text(text.replace('name = "again"', 'name = "again"\nstore = "again.db"'))
    given = ("--model", "m", "--study", "again.toml")
    told(capsys, "predictions", "import", f"out.{ending}", *given)
    told(capsys, "predictions", "export", "second.jsonl", "--study", "again.toml")
    told(capsys, "predictions", "export", "first.jsonl")
    first, second = (
        {(row["item_id"], row["option_text"]) for row in map(json.loads, Path(name).read_text().splitlines())}
        for name in ("first.jsonl", "second.jsonl")
    )
    assert first == second
    assert {name for name, _ in first} == set(IDS)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_exported_ratings_are_imported_again(
    ending: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        {"item": name, "annotator": who, "label": "xy"[(len(name) + len(who)) % 2]}
        for name in IDS
        for who in ("=ana", "'-bo")
    ]
    Path("r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    told(capsys, "label", "import", "r.jsonl")
    told(capsys, "label", "export", "--ratings", f"out.{ending}")
    for path in study.glob("study.db*"):
        path.unlink()
    told(capsys, "label", "route")
    told(capsys, "label", "import", f"out.{ending}")
    told(capsys, "label", "export", "--ratings", "second.jsonl")
    rows = sorted(
        map(sorted, (json.loads(line).items() for line in Path("second.jsonl").read_text().splitlines()))
    )
    assert rows == sorted(sorted(row.items()) for row in given)
