"""The server sends the values that the commands print, from SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks._view_server import Served, serve
from oversight.harness.analysis import StudyItems
from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.harness.view import read_frame
from oversight.harness.view.payload.items import read_filter, read_item, read_items
from tests.conftest import empty_database
from tests.view.conftest import N, fill, lay_out


def test_estimates_and_differences_are_those_of_the_commands(
    folder: Path, served: Served, oversight: Callable[..., Any]
) -> None:
    study = folder / "study.toml"
    told, printed = served.read("overview"), oversight("estimate", "--study", study)
    models: Any = told["models"]
    for model in models:
        kept = printed["models"][model["name"]]
        assert {name: model[name] for name in kept} == kept
        assert list(model["estimates"]) == list(kept["estimates"])
    assert told["questions"] == printed["questions"]
    compared = oversight("compare", "--study", study)
    differences = served.read("differences")
    assert {name: differences[name] for name in compared} == compared


def test_the_last_point_of_the_closing_interval_is_the_one_for_looking_on(
    folder: Path, served: Served, oversight: Callable[..., Any]
) -> None:
    printed = oversight("estimate", "--study", folder / "study.toml", "--anytime")
    found: Any = served.read("closing", model="good")
    assert found["watchable"]
    ended = found["points"][-1]
    kept = printed["models"]["good"]["estimates"]["anytime"]
    assert (ended["low"], ended["high"]) == pytest.approx((kept["low"], kept["high"]), abs=1e-12)
    labels = [point["labels"] for point in found["points"]]
    assert labels == sorted(labels)


def test_strata_are_estimates_of_their_own_items(served: Served) -> None:
    found: Any = served.read("strata", model="good", column="level")
    assert [row["stratum"] for row in found["strata"]] == ["easy", "hard"]
    assert sum(row["items"] for row in found["strata"]) == N
    whole: Any = served.read("overview")
    counted = next(m for m in whole["models"] if m["name"] == "good")["items"]
    assert sum(row["predicted"] for row in found["strata"]) == counted["predicted"]
    # if experts have progressed differently, only their common share of answers counts
    for row in found["strata"]:
        used = row["estimate"]["n"]
        assert 0 < used["ordinary"] + used["complementary"] <= row["answered"]
    nothing: Any = served.read("strata", model="good", column="ward")
    assert "no column 'ward'" in nothing["why"]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_items_have_all_predictions_and_answers(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.param = kind
    url = empty_database(request, tmp_path)
    study = lay_out(tmp_path, url)
    fill(study)
    with Store(study.store_url) as store:
        items = StudyItems.read(store)
        page = read_items(store, items, {"limit": "7"})
        assert [item["id"] for item in page["items"]] == [f"i{j}" for j in range(7)]
        assert (page["matches"], page["of"]) == (N, N)
        refuted = read_items(store, items, {"model": "bad", "outcome": "refuted", "limit": "500"})
        for item in refuted["items"]:
            assert "refuted" in {p["outcome"] for p in item["predictions"] if p["model"] == "bad"}
        others = read_items(store, items, {"limit": "500"})["items"]
        said = {
            i["id"]
            for i in others
            for p in i["predictions"]
            if (p["model"], p["outcome"]) == ("bad", "refuted")
        }
        assert said == {item["id"] for item in refuted["items"]}
        one = read_item(store, items, {"id": "i7", "outcome": "unreadable"})
        assert one["questions"][0]["propensity"] == 0.25
        assert one["questions"][0]["comment"] == "seen"
        assert [p["samples"][0]["raw"] for p in one["predictions"]] == ["red or blue"] * 2
        assert (one["previous"], one["next"]) == (None, "i27")
        assert one["meta"] == {"level": "hard"}


def test_names_of_models_may_hold_other_ends_of_lines() -> None:
    assert read_filter({"disagreed": "a\x85b\n\u2028\n"}).disagreed == ("a\x85b", "\u2028")


def test_columns_are_those_with_strata(tmp_path: Path) -> None:
    fill(lay_out(tmp_path))
    study = read_study(tmp_path / "study.toml", {"items.cluster": "@text"})
    with Store(study.store_url) as store:
        assert read_frame(study, store)["columns"] == ["level"]


def test_a_study_without_anything_says_what_is_missing(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    with Store(study.store_url):
        pass
    with serve(tmp_path) as served:
        told = served.read("overview")
        assert "no answers yet" in str(told["why"])
        assert served.read("items")["items"] == []
        assert served.read("progress")["runs"] == []


def test_without_a_database_there_is_nothing_to_show(tmp_path: Path, oversight: Callable[..., Any]) -> None:
    lay_out(tmp_path)
    found = oversight("view", "--study", tmp_path / "study.toml", code=2)
    assert "nothing is stored yet" in found["error"]
    assert not (tmp_path / "study.db").exists()
