"""The demo with the real local model, on fewer notes; interrupted or repeated, it goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.llm import find_local_model
from oversight.harness.llm.local.lifecycle import LocalServer
from oversight.harness.store import Store


@pytest.mark.local_model
def test_the_demo_runs_the_whole_chain(
    oversight: Callable[..., Any], local_model: LocalServer, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    shown = oversight("demo", folder, "--limit", 24)
    model = shown["study"]["models"][0]
    assert model["predictions"] == 24
    assert model["spec"]["endpoint"] == "local"
    assert 0 <= model["truth"] <= 1
    assert {"ml", "ivw", "ord", "comp"} <= set(model["estimates"]) | set(model["undefined"])
    assert model["estimates"]["ml"]["low"] <= model["truth"] <= model["estimates"]["ml"]["high"]
    page = Path(shown["report"]).read_text(encoding="utf-8")
    assert '<script type="application/json" id="data">' in page
    assert "This file holds 24 of 24 items" in page
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        assert store.count_rows()["answer"] == 24
        before = store.runs.read_predictions(store.runs.read_runs()[0]["id"])
    again = oversight("demo", folder, "--limit", 24)
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        assert (
            store.runs.read_predictions(store.runs.read_runs()[0]["id"]) == before
        )  # equal times and tokens show that no call was repeated
    assert again["study"]["models"][0]["estimates"] == model["estimates"]
    assert find_local_model() == local_model  # a server that ran before the demo still runs after it


@pytest.mark.local_model
@pytest.mark.usefixtures("local_model")
def test_the_demo_of_open_answers_goes_on_where_it_was(oversight: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shown = oversight("demo", folder, "--open", "--limit", 6)
    assert shown["truth"].keys() == {"amber", "birch", "cedar", "smollm2"} == shown["study"]["models"].keys()
    assert shown["study"]["answered"] == shown["study"]["put"] == shown["study"]["drawn"]
    score = shown["study"]["models"]["amber"]["score"]
    assert score["low"] <= shown["truth"]["amber"] <= score["high"]
    assert oversight("demo", folder, "--open", "--limit", 6) == shown


def test_the_demo_leaves_other_folders_alone(oversight: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    assert "contains other files" in oversight("demo", tmp_path, code=2)["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
