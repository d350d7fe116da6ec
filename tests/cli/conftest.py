"""A study whose questions are answered, and a search that has ended, for several modules."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.cli.main import main
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import fake_openai

N = 200
CLASSES = ("red", "green", "blue", "black")
TRUTH = np.random.default_rng(1).integers(4, size=N)
Oversight = Callable[..., Any]


def write_model(name: str, rate: float, items: range) -> None:
    rng = np.random.default_rng(len(name))
    lines = [
        f"i{j},{CLASSES[TRUTH[j] if rng.random() < rate else (TRUTH[j] + 1 + rng.integers(3)) % 4]}\n"
        for j in items
    ]
    Path(f"{name}.csv").write_text("id,prediction\n" + "".join(lines))


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Callable[..., None]:
    """Lay out a study with models imported and questions drawn; the answers of some experts come in."""
    monkeypatch.chdir(tmp_path)
    wards = [f"w{j % 4}" for j in range(N)]
    Path("items.csv").write_text("id,text,ward\n" + "".join(f"i{j},item {j}.,{wards[j]}\n" for j in range(N)))
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    )

    def lay_out(protocol: str, models: dict[str, tuple[float, int]], answered: float = 1.0) -> None:
        Path("study.toml").write_text(
            f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {list(CLASSES)}\nmeta = ["ward"]\n'
            f'[experts]\nprotocol = "{protocol}"\n'
        )
        for name, (rate, number) in models.items():
            write_model(name, rate, range(number))
            oversight("predictions", "import", f"{name}.csv", "--model", name)
        oversight("label", "route")
        fill(answered)
        oversight("label", "import", *map(str, sorted(Path("filled").glob("*.csv"))))

    def fill(share: float) -> None:
        oversight("label", "export", "open")
        Path("filled").mkdir(exist_ok=True)
        for path in Path("open").glob("*.csv"):
            with path.open(newline="") as stream:
                rows = list(csv.DictReader(stream))
            for j, row in enumerate(rows):
                if j < share * len(rows):
                    number = int(row["text"].strip("item ."))
                    truth = CLASSES[TRUTH[number]]
                    row["answer"] = "yes" if truth in row["question"] else "no"
            with Path("filled", path.name).open("w", newline="") as stream:
                writer = csv.DictWriter(stream, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)

    return lay_out


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    with fake_openai(answer) as server:
        lay_out(folder, server.url, concurrency=4)
        assert main(["search", "start", "--study", str(folder / "study.toml"), "--json"]) == 0
    return folder
