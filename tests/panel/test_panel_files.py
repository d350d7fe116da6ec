"""Files of ratings that are easily misread: columns of no annotator, words for a missing label, errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oversight.harness.cli.main import main
from oversight.harness.datasets import read_ratings
from oversight.harness.errors import DataError
from oversight.harness.panel import assess_superhuman
from oversight.harness.panel.ratings import make_panel_from_grid

ROWS = [f"i{n},{'yes' if n % 2 else 'no'},yes" for n in range(8)]


def write(name: str, more: str = "", cell: str = "") -> Path:
    path = Path(name)
    more_cells = [",no" if more else ""] * 7 + [cell]
    rows = [f"item,ana,bo{more}", *map("".join, zip(ROWS, more_cells, strict=True))]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("more", "cell", "told"),
    [
        (",truth", ",no", "the column 'truth' may hold no labels"),
        (",Majority", ",no", "the column 'Majority' may hold no labels"),
        (",cy", ",NA", "the label 'NA' may mean a missing label"),
        (",cy", ",-", "the label '-' may mean a missing label"),
        (",cy", ",YES", "differ only in case"),
    ],
)
def test_doubtful_columns_and_labels_are_refused(more: str, cell: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_ratings(write("r.csv", more, cell))


def test_named_labels_are_taken_as_they_are() -> None:
    found = read_ratings(write("r.csv", ",cy", ",NA"), classes=["yes", "no", "NA"])
    assert {rating.label for rating in found} == {"yes", "no", "NA"}


def test_output_never_replaces_an_input(capsys: pytest.CaptureFixture[str]) -> None:
    ratings = write("r.csv")
    before = ratings.read_text()
    Path("study.toml").write_text('[study]\nname = "t"\n[items]\nfile = "r.csv"\n')
    for words in (["report", "r.csv"], ["report", "study.db"], ["panel", "agree", "r.csv", "--svg", "r.csv"]):
        assert main(words) == 2
        assert "must end in ." in capsys.readouterr().err
    for words in (
        ["predictions", "export", "r.csv"],
        ["predictions", "export", "study.toml"],
        ["experts", "export", "ana", "r.csv"],
    ):
        assert main(words) == 2
        assert "it is a file of the study" in capsys.readouterr().err
    assert ratings.read_text() == before


def test_one_model_is_certified_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    write("r.csv")
    with pytest.raises(SystemExit):
        main(["panel", "certify", "r.csv", "--model", "a.csv", "--model", "b.csv"])
    assert "--model may be given only once" in capsys.readouterr().err


def test_empty_predictions_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    write("r.csv")
    rows = "".join(f"i{n},{'yes' if n < 3 else ''}\n" for n in range(8))
    Path("m.csv").write_text("item,label\n" + rows)
    assert main(["panel", "certify", "r.csv", "--model", "m.csv"]) == 0
    assert "m.csv: 5 of 8 predictions empty or unreadable: they count as wrong" in capsys.readouterr().err


def test_unrated_items_of_an_oracle_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    write("r.csv")
    Path("m.csv").write_text("item,label\n" + "".join(f"i{n},yes\n" for n in range(8)))
    Path("o.csv").write_text("item,label\ni0,yes\nzz,no\n")
    assert main(["panel", "certify", "r.csv", "--model", "m.csv", "--oracle", "o.csv"]) == 0
    assert "o.csv: 1 of 2 items left out, because nobody rated them" in capsys.readouterr().err


def test_missing_label_makes_no_pool() -> None:
    rng = np.random.default_rng(1)
    grid = rng.integers(2, size=(200, 3))
    predicted = rng.integers(2, size=200)
    whole = assess_superhuman(make_panel_from_grid(grid, ("a", "b")), predicted)
    grid[0, 0] = -1
    lacking = assess_superhuman(make_panel_from_grid(grid, ("a", "b")), predicted)
    assert whole.fixed
    assert lacking.fixed
    assert lacking.valid == whole.valid
