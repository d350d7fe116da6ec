"""Data that parts of the page share are read once; an item column is read again once its gaps are filled."""

from __future__ import annotations

from pathlib import Path

import pytest

from oversight.harness.cli.main import main
from oversight.harness.columns import ItemIndex, LabelColumns
from oversight.harness.store import Store
from oversight.harness.store.columns.study_columns import ColumnRepository
from oversight.harness.types import Item
from tests.view.conftest import fill, lay_out


def test_a_file_of_several_models_reads_labels_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, read, times = lay_out(tmp_path), ColumnRepository._read_labels, list[int]()  # noqa: SLF001  the reading itself
    fill(study)

    def count(repository: ColumnRepository, index: ItemIndex, *, second: bool) -> LabelColumns:
        times.append(1 - second)
        return read(repository, index, second=second)

    monkeypatch.setattr(ColumnRepository, "_read_labels", count)
    assert main(["report", "--study", str(tmp_path / "study.toml"), str(tmp_path / "r.html")]) == 0
    assert sum(times) == 1


def test_filled_gaps_are_read_once_and_then_cached(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        store.content.add_items([Item("a", "x", ("p", "q"), (0, 1), {})])
        store.columns.remember()
        assert store.columns.read_meta("ward").code.tolist() == [-1]
        store.content.add_items([Item("a", "x", ("p", "q"), (0, 1), {"ward": "north"})])
        filled = store.columns.read_meta("ward")
        assert filled.code.tolist() == [0]
        assert store.columns.read_meta("ward") is filled
