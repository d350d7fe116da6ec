"""Checks while some experts have not begun: nothing counts as failed for want of their answers."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CLASSES = ("red", "green", "blue", "white")
N = 200


@pytest.fixture
def answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> Callable[[str], None]:
    """Lay out a routed study with a model; answers for one expert."""
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}\n" for j in range(N)))
    Path("study.toml").write_text(
        f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
    )
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{name}"\nclasses = ["{name}"]\n' for name in CLASSES)
    )
    Path("m.csv").write_text("id,prediction\n" + "".join(f"i{j},{CLASSES[j % 4]}\n" for j in range(N)))
    oversight("label", "route")
    oversight("predictions", "import", "m.csv", "--model", "m")
    oversight("label", "export")

    def fill_in(expert: str) -> None:
        path = Path(f"questions/questions-{expert}.csv")
        with path.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            row["answer"] = "yes" if expert == CLASSES[int(row["text"].split()[1]) % 4] else "no"
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        oversight("label", "import", path)

    return fill_in


def test_check_that_lacks_answers_is_not_made(
    answer: Callable[[str], None], oversight: Callable[..., Any]
) -> None:
    for expert in CLASSES[:3]:
        answer(expert)
        model = oversight("estimate")["models"]["m"]
        (why,) = set(model["undefined"].values())
        assert "not answered yet" in why
        states = {check["name"]: (check["passed"], check["message"]) for check in model["checks"]}
        assert {name for name, (passed, _) in states.items() if passed is False} <= {"small_strata"}
        assert states["asked_options"] == (None, why)
    answer("white")
    model = oversight("estimate")["models"]["m"]
    assert {check["name"]: check["passed"] for check in model["checks"]}["asked_options"] is True
