"""Panels from Python say what the verbs say, from a file, a frame, a list or a panel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oversight as ov
from oversight.harness import WrongType
from oversight.harness.panel import make_panel
from tests.test_studies import call, copied, inside

CLASSES = ("x", "y", "z")


@pytest.fixture(scope="module")
def ratings() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    truth = rng.choice(CLASSES, 80)
    rows = [
        {"item": f"i{j}", "annotator": name, "label": t if rng.random() < 0.75 else rng.choice(CLASSES)}
        for j, t in enumerate(truth)
        for name in ("ana", "ben", "eva")
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def predicted(ratings: pd.DataFrame) -> dict[str, str]:
    return {str(item): str(part.mode()[0]) for item, part in ratings.groupby("item")["label"]}


def test_every_source_gives_the_same(ratings: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    ratings.to_csv(path, index=False)
    rows = [ov.Rating(*row) for row in ratings.itertuples(index=False)]
    sources: list[Any] = [path, str(path), ratings, rows, make_panel(rows)]
    found = [ov.agree(source) for source in sources]
    assert all(report == found[0] for report in found)
    with inside(tmp_path):
        said = json.loads(call(["panel", "agree", "ratings.csv", "--json"])[1])
    assert found[0].alpha is not None
    assert said["alpha"]["value"] == found[0].alpha.value


def test_columns_classes_and_measurement_can_be_chosen(ratings: pd.DataFrame) -> None:
    numbers = ratings.assign(grade=ratings["label"].map({"x": 1, "y": 2, "z": 4})).drop(columns="label")
    found = ov.agree(numbers, measurement="interval", label="grade", bootstrap=0)
    assert found.level == "interval"
    ordered = ov.agree(ratings, measurement="ordinal", classes=["y", "x", "z"], bootstrap=0)
    assert list(ordered.categories) == ["y", "x", "z"]
    with pytest.raises(ov.BadInput, match="measurement 'ratio': labels must be numbers"):
        ov.agree(ratings, measurement="ratio")
    with pytest.raises(WrongType, match=r"^classes: expected a list of texts"):
        ov.agree(ratings, classes="xyz")
    with pytest.raises(ov.DataError, match=r"^frame, row 0, column 'grade': there is no such column"):
        ov.agree(ratings, label="grade")


def test_certificate_and_parity_take_frames_and_mappings(
    ratings: pd.DataFrame, predicted: dict[str, str], tmp_path: Path
) -> None:
    frame = pd.DataFrame({"item": list(predicted), "label": list(predicted.values())})
    certificate = ov.certify(ratings, predicted)
    assert certificate == ov.certify(ratings, frame)
    assert certificate.verdict in certificate._repr_html_().replace("&#x27;", "'")
    assert list(certificate.to_frame()["ceiling"]) == list(certificate.against)
    found = ov.parity(ratings, frame)
    assert found == ov.parity(ratings, predicted)
    assert list(found.to_frame()["bin"]) == [*(b.name for b in found.bins), "all"]
    assert "human − model" in found._repr_html_()
    some = dict(list(predicted.items())[:20])
    assert ov.certify(ratings, predicted, oracle=some).check is not None
    with pytest.raises(ov.EstimateError, match="predicted: there is no value for the item"):
        ov.parity(ratings, some)
    with pytest.raises(ov.BadInput, match="frame: the item 'other' has no rating in frame"):
        ov.certify(ratings, pd.concat([frame, pd.DataFrame([{"item": "other", "label": "x"}])]))


def test_agreement_is_shown_with_every_class(ratings: pd.DataFrame) -> None:
    found = ov.agree(ratings, bootstrap=50)
    classes = found.to_frame().query("coefficient == 'alpha' and `class` != ''")
    assert list(classes["class"]) == list(CLASSES)
    assert "Krippendorff&#x27;s α" in found._repr_html_()


@pytest.mark.parametrize("given", [5, None, ["x"]])
def test_a_study_without_ratings_is_named(given: Any) -> None:
    with pytest.raises(WrongType, match=r"^ratings(\[0\])?: expected"):
        ov.agree(given)


def test_study_is_found_by_folder_file_or_settings(tmp_path: Path) -> None:
    from oversight.harness.config import read_study

    folder = copied("partitioned", tmp_path)
    found = ov.study_report(folder)
    with inside(folder):
        said = json.loads(call(["estimate", "--json"])[1])["models"]
        assert ov.study_report().models == found.models
    assert {m.name: m.estimates["ml"].value for m in found.models} == {
        name: model["estimates"]["ml"]["estimate"] for name, model in said.items()
    }
    file = folder / "study.toml"
    assert ov.study_report(file).models == ov.study_report(read_study(file)).models == found.models
    assert list(found.to_frame()["model"].unique()) == list(said)
    assert "Accuracy" not in found.to_frame()
    first = found.models[0].name
    assert [m.name for m in ov.study_report(folder, models=[first]).models] == [first]
    with pytest.raises(WrongType, match=r"^models: expected a list of texts, .* got the text"):
        ov.study_report(folder, models=first)
    with pytest.raises(WrongType, match=r"^study: expected the path of a study.toml"):
        ov.study_report(5)  # type: ignore[arg-type]
    with pytest.raises(ov.DataError, match="there is no such study file"):
        ov.study_report(tmp_path / "nowhere")
