"""A whole number with decimals, as in a column with an empty cell, is one class in every table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import oversight as ov
from oversight.harness.datasets import read_choices, read_ratings
from oversight.harness.errors import DataError

ITEMS = [f"i{j}" for j in range(8)]
ANA, BO = [1, 2, 3, 1, 2, 3, 1, 2], [1.0, 2.0, None, 1.0, 2.0, 3.0, 1.0, 3.0]
WIDE = pd.DataFrame({"item": ITEMS, "ana": ANA, "bo": BO})
LONG = pd.DataFrame(
    {"item": ITEMS * 2, "annotator": ["ana"] * 8 + ["bo"] * 8, "label": [*map(str, ANA), *map(str, BO)]}
).query("label != 'None'")
WRITE: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}


def put(frame: pd.DataFrame, kind: str, folder: Path) -> Any:
    if kind == "frame":
        return frame
    path = folder / f"t{len(list(folder.iterdir()))}.{kind}"
    WRITE[kind](frame, path)
    return path


@pytest.mark.parametrize("kind", [*WRITE, "frame"])
@pytest.mark.parametrize("table", [WIDE, LONG, WIDE.astype({"ana": float})], ids=["wide", "long", "floats"])
def test_numbers_with_decimals_are_the_same_classes(table: pd.DataFrame, kind: str, tmp_path: Path) -> None:
    ratings = put(table, kind, tmp_path)
    assert {rating.label for rating in read_ratings(ratings)} == {"1", "2", "3"}
    predicted = put(pd.DataFrame({"item": ITEMS, "label": [*map(float, ANA)]}), kind, tmp_path)
    whole = pd.DataFrame({"item": ITEMS, "ana": ANA, "bo": pd.array(BO, dtype="Int64")})
    assert ov.parity(ratings, predicted).overall == ov.parity(whole, predicted).overall
    assert ov.agree(ratings).alpha == ov.agree(whole).alpha
    assert set(read_choices(predicted).values()) == {"1", "2", "3"}


def test_classes_that_a_study_declares_keep_their_text(tmp_path: Path) -> None:
    wide = put(WIDE, "csv", tmp_path)
    assert {r.label for r in read_ratings(wide, classes=["1.0", "2.0", "3.0"])} == {"1.0", "2.0", "3.0"}
    choices = tmp_path / "c.csv"
    choices.write_text("item,label\na,1\nb,1.0\nc,01\nd,2\n")
    declared = ["1", "1.0", "01", "2.0"]
    assert list(read_choices(choices, classes=declared).values()) == ["1", "1.0", "01", "2.0"]
    choices.write_text("item,label\na,2.00\n")
    with pytest.raises(DataError, match=r"'2\.00' is not a class"):
        read_choices(choices, classes=["2", "2.0"])


@pytest.mark.parametrize("labels", [["1.1", "1.10"], ["01", "1"], ["1.5", "1.50"], ["1", "1.000"]])
def test_versions_and_codes_stay_apart(labels: list[str], tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("item,label\n" + "".join(f"i{j},{said}\n" for j, said in enumerate(labels)))
    assert list(read_choices(path).values()) == labels


@pytest.mark.parametrize("other", ["1.5", "v2", "unsure"])
def test_numbers_among_other_labels_must_be_written_alike(other: str, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"item,annotator,label\na,ana,1\na,bo,1.0\nb,ana,{other}\n")
    with pytest.raises(DataError, match=r"the labels '1' and '1\.0' are the same number"):
        read_ratings(path)
    assert {r.label for r in read_ratings(path, classes=["1", other])} == {"1", other}


@pytest.mark.parametrize("kind", [*WRITE, "frame"])
def test_predicted_numbers_with_decimals_name_options(kind: str, tmp_path: Path) -> None:
    given = put(pd.DataFrame({"id": ITEMS, "prediction": BO}), kind, tmp_path)
    found = ov.predictions_from_frame(given, ["1", "2", "3"])
    assert [p.option for p in found] == [0, 1, None, 0, 1, 2, 0, 2]


@pytest.mark.parametrize("kind", WRITE)
def test_imported_numbers_with_decimals_name_options(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"{name},text {name}\n" for name in ITEMS))
    oversight("init", "--items", "items.csv", "--classes", "1,2,3")
    oversight("label", "route")
    path = put(pd.DataFrame({"id": ITEMS, "prediction": map(float, ANA)}), kind, tmp_path)
    oversight("predictions", "import", str(path), "--model", "m")
    oversight("predictions", "export", "out.jsonl")
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [row["option_text"] for row in rows] == [*map(str, ANA)]


def test_imported_ratings_with_decimals_name_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"{name},text {name}\n" for name in ITEMS))
    oversight("init", "--items", "items.csv", "--classes", "1,2,3")
    text = Path("study.toml").read_text().replace('protocol = "partitioned"', 'protocol = "panel"')
    Path("study.toml").write_text(text.replace("[experts]", "[experts]\nannotators_per_item = 2"))
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{name}"\nclasses = ["*"]\n' for name in ("ana", "bo"))
    )
    oversight("label", "route")
    WIDE.to_csv("wide.csv", index=False)
    oversight("label", "import", "wide.csv")
    found = oversight("panel", "agree")
    assert found["alpha"] == oversight("panel", "agree", "wide.csv")["alpha"]
    assert found["ratings"] == 15


def test_key_with_decimals_names_options(tmp_path: Path) -> None:
    items, key = tmp_path / "items.csv", tmp_path / "key.csv"
    items.write_text("id,text\na,first\nb,second\n")
    key.write_text("id,label\na,2.0\nb,1.0\n")
    assert ov.read_key(key, ov.read_items(items, classes=["1", "2"])) == {"a": 1, "b": 0}
