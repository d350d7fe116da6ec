"""Estimates, comparisons and the page's numbers make no record of an item, a question or an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.harness.types import Answer, Item, Label, Prediction, Question
from oversight.harness.view.payload.detail import read_closing
from oversight.harness.view.payload.overview import read_differences, read_overview
from oversight.harness.view.payload.progress import read_frame, read_progress
from oversight.protocols.collect.label_studio.watch import estimate_running
from tests.test_studies import call, copied, inside

ROUTED = ("partitioned", "targeted", "sequential", "disagreement")


@pytest.mark.filterwarnings("ignore:No artists with labels found")  # if no model has an estimate to plot
@pytest.mark.parametrize("study", ROUTED)
def test_estimates_create_no_records(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, *_: Any, **__: Any) -> None:
        raise AssertionError(f"a {type(self).__name__} was made")

    folder = copied(study, tmp_path)
    # do not read the items file again; small files are read to report missing items
    monkeypatch.setattr("oversight.harness.analysis.inputs._LARGEST", 0)
    with inside(folder):
        for kind in (Answer, Item, Label, Prediction, Question):
            monkeypatch.setattr(kind, "__init__", refuse)
        for words in (["estimate", "--json"], ["compare", "--json"]):
            assert call(words)[0] == 0
        with Store("sqlite:///study.db") as store:
            read = read_study(Path("study.toml"))
            for part in (read_frame, read_progress, read_overview, read_differences):
                assert part(read, store)
            model = read_frame(read, store)["models"][0]
            assert read_closing(read, store, model=model).keys() >= {"points", "why"}


def test_search_and_running_estimate_create_no_label_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, *_: Any, **__: Any) -> None:
        raise AssertionError(f"a {type(self).__name__} was made")

    searched, partitioned = copied("search", tmp_path), copied("partitioned", tmp_path)
    for kind in (Answer, Label, Question):
        monkeypatch.setattr(kind, "__init__", refuse)
    with inside(searched):
        assert call(["search", "show", "--json"])[0] == 0
    with inside(partitioned), Store("sqlite:///study.db") as store:
        study = read_study(Path("study.toml"))
        estimates, undefined = estimate_running(study, store)
        assert (len(estimates) > 0, undefined) == (True, {})
