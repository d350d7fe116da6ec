"""The page of a panel shows what the commands print, and says why something is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.config import ModelSection, Study, read_study
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Prediction
from oversight.harness.view.payload.panel import read_panel

PEOPLE, CLASSES, N = ("ana", "bo", "cy", "di"), ("red", "green", "blue"), 40
TRUTH = np.random.default_rng(5).integers(3, size=N)


@pytest.fixture(autouse=True)
def _laid_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a panel study that has no ratings yet."""
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text,ward\n" + "".join(f"i{j},item {j},w{j % 25}\n" for j in range(N)))
    Path("experts.toml").write_text("".join(f'[[expert]]\nname = "{p}"\nclasses = ["*"]\n' for p in PEOPLE))
    Path("study.toml").write_text(
        f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {list(CLASSES)}\n'
        '[experts]\nprotocol = "panel"\n'
    )


def rate(oversight: Callable[..., Any]) -> None:
    oversight("label", "route")
    with Store("sqlite:///study.db") as store:
        given = store.panel.read_assignments()
    rng = np.random.default_rng(1)
    rows = [
        f"{a.item_id},{a.annotator},{CLASSES[(TRUTH[int(a.item_id[1:])] + (rng.random() < 0.2)) % 3]}"
        for a in given
    ]
    Path("ratings.csv").write_text("\n".join(["item,annotator,label", *rows]) + "\n")
    oversight("label", "import", "ratings.csv")


def add_model(name: str, items: int = N) -> None:
    with Store("sqlite:///study.db") as store:
        spec = make_spec(name, ModelSection(model=name), "$text", None)
        store.runs.add_run(spec)
        said = [(int(TRUTH[j]) + (j % 10 == 0)) % 3 for j in range(items)]
        store.runs.store_predictions([(spec.id, Prediction(f"i{j}", k)) for j, k in enumerate(said)])


def change(section: str, line: str) -> None:
    text = Path("study.toml").read_text()
    Path("study.toml").write_text(text.replace(f"[{section}]\n", f"[{section}]\n{line}\n"))


def read_page() -> dict[str, Any]:
    study = read_study("study.toml")
    with Store(study.store_url) as store:
        found = read_panel(study, store)
    again: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    assert again == found
    return again


@pytest.mark.parametrize("clustered", [False, True])
def test_numbers_are_those_of_the_commands(oversight: Callable[..., Any], *, clustered: bool) -> None:
    if clustered:
        change("items", 'cluster = "ward"')
    Path("truth.csv").write_text(
        "item,label\n" + "".join(f"i{j},{CLASSES[TRUTH[j]]}\n" for j in range(0, N, 2))
    )
    change("experts", 'reference = "truth.csv"')
    rate(oversight)
    add_model("large")
    page = read_page()
    assert page["undefined"] == {}
    assert (page["items"], page["annotators"], page["ratings"]) == (N, 4, 3 * N)
    (model,) = page["models"]
    assert (model["name"], model["undefined"]) == ("large", {})
    for found, words in (
        (
            page["agreement"],
            (
                "panel",
                "agree",
            ),
        ),
        (model["certificate"], ("panel", "certify", "--model", "large", "--svg", "certificate.svg")),
        (model["parity"], ("panel", "parity", "--model", "large")),
    ):
        printed = oversight(*words)
        del printed["svg"]
        printed.pop("pairs", None)  # the page does not show pairs of annotators
        assert found == printed
    assert [point["annotators"] for point in model["certificate"]["growth"]] == [1, 2, 3]
    assert len(model["parity"]["human_level"]["ranking"]) == 5
    assert page["agreement"]["clusters"] == (25 if clustered else None)


def test_undefined_scores_have_a_reason(oversight: Callable[..., Any]) -> None:
    assert "the study has no ratings" in read_page()["undefined"]["ratings"]
    rate(oversight)
    page = read_page()
    assert page["agreement"]["alpha"]["low"] < page["agreement"]["alpha"]["high"]
    assert "no model was run yet" in page["undefined"]["models"]
    add_model("half", N // 2)
    add_model("large")
    add_model("none", 0)
    half, large = read_page()["models"]
    assert (half["certificate"], half["parity"]) == (None, None)
    assert "predictions of half: there is no value for the item 'i20'" in half["undefined"]["predictions"]
    assert "oversight panel parity --reference FILE" in large["undefined"]["human_level"]
    assert large["parity"]["human_level"] is None
    assert "run 'none' has no answers yet" in read_page()["left_out"][0]
    change("experts", 'reference = "nowhere.csv"')
    _, large = read_page()["models"]
    assert "nowhere.csv" in large["undefined"]["human_level"]
    assert large["parity"]["overall"]["model"]["value"] > 0.7


def test_a_study_of_yes_and_no_has_no_panel(tmp_path: Path) -> None:
    study = Study.model_validate({"study": {"name": "t"}, "items": {"file": "x.csv"}})
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        page = read_panel(study, store)
    assert page["is_panel"] is False
    assert "asks experts yes/no questions" in page["undefined"]["ratings"]


def test_the_file_of_the_reference_is_taken_from_the_study(
    oversight: Callable[..., Any],
) -> None:
    rate(oversight)
    add_model("large")
    Path("truth.csv").write_text("item,label\n" + "".join(f"i{j},{CLASSES[TRUTH[j]]}\n" for j in range(N)))
    given = oversight("panel", "parity", "--model", "large", "--reference", "truth.csv")
    assert given["human_level"]["standings"][0]["hlpi"] > 0.9
    change("experts", 'reference = "truth.csv"')
    assert oversight("panel", "parity", "--model", "large") == given
