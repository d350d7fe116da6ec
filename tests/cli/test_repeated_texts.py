"""Items with the same text under different ids are named and doubted, and `cluster = "@text"` joins them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.cli.main import main
from tests.cli.colours import CLASSES, write_colours

Oversight = Callable[..., Any]
N = 300


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Callable[..., None]:
    """Lay out an answered study of 300 items in which every text occurs `times` times."""
    monkeypatch.chdir(tmp_path)

    def lay_out(each: int, *, cluster: str = "", header: str = "id,text,ward") -> None:
        write_colours(N)
        kinds, rng = N // each, np.random.default_rng(7)
        rows = [f"i{j},{' ' * (j // kinds)}number {j % kinds}.,w{j % kinds % 50}\n" for j in range(N)]
        Path("items.csv").write_text(header + "\n" + "".join(rows))
        Path("key.csv").write_text(
            "id,label\n" + "".join(f"i{j},{CLASSES[j % kinds % 3]}\n" for j in range(N))
        )
        write_settings(cluster)
        for name, rate in (("a", 0.8), ("b", 0.6)):
            right = rng.random(kinds) < rate
            lines = [
                json.dumps({"id": f"i{j}", "prediction": CLASSES[(j + (not right[j % kinds])) % kinds % 3]})
                for j in range(N)
            ]
            Path(f"{name}.jsonl").write_text("\n".join(lines) + "\n")
            oversight("predictions", "import", f"{name}.jsonl", "--model", name)
        oversight("label", "route")
        oversight("label", "simulate", "--key", "key.csv")

    return lay_out


def write_settings(cluster: str) -> None:
    Path("study.toml").write_text(
        f'[study]\nname = "t"\nseed = 3\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
        + cluster
        + '[experts]\nprotocol = "targeted"\n'
    )


def width(row: dict[str, float]) -> float:
    return row["high"] - row["low"]


def test_repeated_texts_are_named_and_void_every_interval(
    study: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    study(5)
    assert oversight("items", "check")["repeated_texts"] == {"texts": 60, "items": 300}
    made = oversight("estimate", "--model", "a")["models"]["a"]["estimates"]
    assert all(
        not row["holds"] and "300 of 300 answered items share their text" in row["why"]
        for row in made.values()
    )
    (pair,) = oversight("compare")["comparisons"]
    assert not pair["holds"]
    assert 'cluster = "@text" under [items]' in pair["why"]
    capsys.readouterr()
    assert main(["gate", "--model", "a", "--at-least", "0.3"]) == 3
    assert 'cluster = "@text"' in capsys.readouterr().out


def test_the_text_as_cluster_widens_intervals_that_then_hold(
    study: Callable[..., None], oversight: Oversight
) -> None:
    study(5)
    apart = oversight("estimate", "--model", "a")["models"]["a"]["estimates"]["routed"]
    write_settings('cluster = "@text"\n')
    joined = oversight("estimate", "--model", "a")["models"]["a"]["estimates"]["routed"]
    assert joined["holds"]
    assert 1.8 < width(joined) / width(apart) < 2.8
    assert oversight("compare")["comparisons"][0]["holds"]


def test_a_column_that_joins_equal_texts_is_enough(study: Callable[..., None], oversight: Oversight) -> None:
    study(5, cluster='cluster = "ward"\n')
    assert oversight("estimate", "--model", "a")["models"]["a"]["estimates"]["routed"]["holds"]


def test_distinct_texts_are_not_doubted(study: Callable[..., None], oversight: Oversight) -> None:
    study(1)
    assert oversight("items", "check")["repeated_texts"] == {"texts": 0, "items": 0}
    assert oversight("estimate", "--model", "a")["models"]["a"]["estimates"]["routed"]["holds"]


def test_a_column_called_like_the_setting_is_refused(
    study: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    study(5, header="id,text,@text")
    write_settings('cluster = "@text"\n')
    capsys.readouterr()
    assert main(["estimate"]) == 2
    assert "the items have a column of that name; rename the column" in capsys.readouterr().err
