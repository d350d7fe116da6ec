"""Flipped bits in a study's files: a named file and a way back, or the same work; never a traceback."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from oversight.harness import StoreError
from oversight.harness.cli.main import main
from oversight.harness.store import Store
from oversight.harness.types import Prediction
from tests.studies.opened import copy_study

STUDIES = Path(__file__).parents[1] / "studies"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = copy_study("mixed", tmp_path)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("name", ["study.db", "study.toml", "experts.toml"])
@pytest.mark.parametrize("seed", range(12))
def test_flipped_bits_end_in_a_message(
    name: str, seed: int, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)  # noqa: S311  draws a test, no secret
    data = bytearray((study / name).read_bytes())
    for _ in range(rng.choice([1, 4, 40, 400])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    (study / name).write_bytes(data)
    code = main(["estimate"])
    assert code in (0, 2)
    if code:
        err = capsys.readouterr().err
        assert err.startswith("oversight: ")
        assert len(err.splitlines()) == 1


def read_all(store: Store) -> list[Prediction]:
    store.content.read_items()
    store.content.read_answers()
    return [p for run in store.runs.read_runs() for p in store.runs.read_predictions(run["id"])]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE prediction SET status = 'oj'", "a stored value was changed or is damaged"),
        ("UPDATE prediction SET raw = CAST(X'ff' AS TEXT)", "Could not decode to UTF-8"),
        ("UPDATE item SET options = '[\"a'", "a stored value was changed or is damaged"),
        ("UPDATE answer SET verdict = 'nn'", "a stored value was changed or is damaged"),
    ],
)
def test_a_damaged_value_is_named_with_the_way_back(change: str, message: str, study: Path) -> None:
    connection = sqlite3.connect("study.db")
    connection.execute(change)
    connection.commit()
    connection.close()
    with Store("sqlite:///study.db") as store, pytest.raises(StoreError) as raised:
        read_all(store)
    assert message in str(raised.value)
    assert "restore a copy" in str(raised.value)
    assert "sqlite3 study.db .recover | sqlite3 recovered.db" in str(raised.value)


@pytest.mark.parametrize("data", [b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000], ids=["text", "pages"])
def test_file_that_is_no_longer_a_database_is_reported(data: bytes, study: Path) -> None:
    Path("study.db").write_bytes(data)
    with pytest.raises(StoreError, match=r"study\.db: .*restore a copy of it"):
        Store("sqlite:///study.db")


def test_study_file_that_is_not_utf_8_is_reported_by_line(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study.toml").write_bytes(Path("study.toml").read_bytes() + b"\n# \xff\n")
    line = Path("study.toml").read_bytes().count(b"\n")
    assert main(["estimate"]) == 2
    assert f"study.toml:{line}: this line is not UTF-8" in capsys.readouterr().err


def test_a_transaction_is_written_completely_or_not_at_all(study: Path) -> None:
    with Store("sqlite:///study.db") as store:
        before, items = store.count_rows(), store.content.read_items()
        with pytest.raises(StoreError), store.together():  # noqa: PT012
            store.content.add_items(items)
            store.calls.add_probe("e", "m", "f", offered=True, detail="")
            store.runs.store_predictions([("no such run", p) for p in read_all(store)])
        assert store.count_rows() == before
        assert store.calls.read_probe("e", "m", "f") is None
