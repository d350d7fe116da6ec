"""Items that depend on each other, because they share a text or a patient."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.errors import EstimateError
from oversight.harness.open_answers import OpenEstimate, estimate_open
from tests.open_answers.open_study import DATA, KEY, lay_out
from tests.open_answers.worlds import EXPERTS, judge_all, rubric_table

Oversight = Callable[..., Any]
COPIES = 4


def estimate_copies(copies: int, *, anytime: bool = False, clustered: bool = True) -> list[OpenEstimate]:
    """Estimate from 20 items, each judged in several copies."""
    items = 20 * copies
    no = {(f"m{i}", f"i{i}c{i // copies % 2}"): "no" for i in range(items) if i // copies % 3 == 0}
    cluster = {f"i{i}": i // copies for i in range(items)} if clustered else None
    judged = judge_all(rubric_table([[2, 1, -1]] * items), no)
    return list(estimate_open(judged, experts=EXPERTS, cluster=cluster, anytime=anytime).estimates)


@pytest.mark.parametrize("anytime", [False, True])
def test_copies_of_an_item_count_as_one_cluster(*, anytime: bool) -> None:
    alone, copied = (estimate_copies(n, anytime=anytime) for n in (1, COPIES))
    apart = estimate_copies(COPIES, anytime=anytime, clustered=False)
    for one, other, narrow in zip(alone, copied, apart, strict=True):
        assert other.value == pytest.approx(one.value)
        assert other.low == pytest.approx(one.low)
        assert other.high == pytest.approx(one.high)
        assert None not in (narrow.low, narrow.high, other.low, other.high)
        assert (narrow.high or 0) - (narrow.low or 0) < (other.high or 0) - (other.low or 0)


def test_few_clusters_are_withheld() -> None:
    judged = judge_all(rubric_table([[1, 1]] * 30), {})
    cluster = {f"i{i}": i % 3 for i in range(30)}
    found = estimate_open(judged, experts=EXPERTS, cluster=cluster).find_estimate("score", "m")
    assert found.value is None
    assert "the judged clusters of items count as 3.0" in found.withheld


def test_item_without_a_cluster_is_refused() -> None:
    judged = judge_all(rubric_table([[1]] * 6), {})
    with pytest.raises(EstimateError, match="item 'i5' has no cluster"):
        estimate_open(judged, experts=EXPERTS, cluster={f"i{i}": i for i in range(5)})


def copy_items(folder: Path, oversight: Oversight) -> Path:
    """Lay out the bundled study with copies of every item and answer. Returns the key of the copies."""
    lay_out(folder, oversight, models=())
    lines = [json.loads(line) for line in Path("items.jsonl").read_text().splitlines()]
    rows = [
        {**line, "id": f"{line['id']}-{n}", "patient": line["id"]} for line in lines for n in range(COPIES)
    ]
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for source, target, column in (
        (DATA / "open_answers.amber.csv", "amber.csv", "id"),
        (Path(KEY), "key.csv", "item"),
    ):
        with source.open(encoding="utf-8", newline="") as stream:
            table = list(csv.DictReader(stream))
        with Path(target).open("w", encoding="utf-8", newline="") as stream:
            out = csv.DictWriter(stream, list(table[0]))
            out.writeheader()
            out.writerows({**row, column: f"{row[column]}-{n}"} for row in table for n in range(COPIES))
    oversight("predictions", "import", "amber.csv", "--model", "amber")
    return Path("key.csv")


def test_repeated_texts_are_marked_unless_they_are_one_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    key = copy_items(tmp_path, oversight)
    oversight("label", "route")
    oversight("label", "simulate", "--key", str(key))
    apart = oversight("estimate")["models"]["amber"]
    assert all("160 of 160 judged items share their text" in found["why"] for found in apart.values())
    (check,) = oversight("gate", "--at-least", "0.5", "--model", "amber", code=3)["checks"]
    assert 'cluster = "@text"' in check["why"]
    text = Path("study.toml").read_text()
    for cluster in ("@text", "patient"):
        changed = text.replace('answers = "open"', f'answers = "open"\ncluster = "{cluster}"')
        Path("study.toml").write_text(changed)
        joined = oversight("estimate")["models"]["amber"]
        for metric in ("score", "met", "no_error"):
            found, narrow = joined[metric], apart[metric]
            assert (found["why"], found["value"]) == ("", pytest.approx(narrow["value"]))
            assert found["high"] - found["low"] > 1.5 * (narrow["high"] - narrow["low"])
        (check,) = oversight("gate", "--at-least", "0.5", "--model", "amber")["checks"]
        assert check["verdict"] == "pass"
    assert np.isclose(joined["score"]["low"], 0.751, atol=0.02)
