"""Measure coverage in ten designs with the real commands: write input files, run `oversight … --json`."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._coverage_designs import CLASSES, Design, clusters_of, true_accuracies, world
from oversight.harness.cli.main import main

COMMAND_CELLS = [
    Design(K=(4,), accuracies=(0.9,), n=60),
    Design(K=(4,), accuracies=(0.05,), n=60),
    Design(K=(10,), accuracies=(0.7,), n=60),
    Design(protocol="targeted", K=(10,), accuracies=(0.98, 0.98), n=50),
    Design(protocol="targeted", K=(10,), accuracies=(0.9, 0.5), n=50),
    Design(protocol="sequential", K=(4,), accuracies=(0.8, 0.6), n=50),
    Design(K=(4,), accuracies=(0.8,), n=60, unreadable=0.15),
    Design(protocol="targeted", K=(4,), accuracies=(0.6,), n=60),
    Design(K=(4,), accuracies=(0.8,), n=60, cluster=5),
    Design(kind="difference", protocol="disagreement", K=(4,), accuracies=(0.8, 0.7), n=60),
]


def run_commands(draws: int) -> dict[str, float]:
    """Run all cells. Returns the coverage over all draws, and the share of draws without an interval."""
    covered, printed, withheld = 0, 0, 0
    for number, design in enumerate(COMMAND_CELLS):
        for seed in range(draws):
            found = _draw_one(design, np.random.default_rng([number, seed]), seed)
            if found is None:
                withheld += 1
                continue
            low, high, truth, holds = found
            printed += holds
            covered += holds and low - 1e-9 <= truth <= high + 1e-9
    return {
        "cells": len(COMMAND_CELLS),
        "draws": draws,
        "coverage": round(covered / max(1, printed), 4),
        "withheld": round(withheld / (draws * len(COMMAND_CELLS)), 4),
    }


def _draw_one(design: Design, rng: np.random.Generator, seed: int) -> tuple[float, float, float, bool] | None:
    """Run one study with commands. Returns ends of the printed interval, the true value, and `holds`.

    The interval is that of the first model's accuracy, or of the difference. Returns None if it was withheld.
    """
    items, models, truth = world(design, rng)
    with tempfile.TemporaryDirectory() as folder, _inside(Path(folder)):
        _write(design, items, models, truth, seed)
        for name in models:
            _command("predictions", "import", f"{name}.csv", "--model", name)
        for _ in range(len(models) + 1):
            _command("label", "route")
            _command("label", "simulate", "--key", "key.csv")
        exact = true_accuracies(design)
        if design.kind == "difference":
            (pair,) = _command("compare")["comparisons"]
            return pair["low"], pair["high"], exact[0] - exact[1], pair["holds"]
        made = _command("estimate")["models"]["m0"]["accuracy"]
        return made and (made["low"], made["high"], exact[0], made["holds"])


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    home = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(home)


def _command(*words: str) -> Any:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
        code = main([*words, "--json"])
    if code:
        raise SystemExit(f"oversight {' '.join(words)}: exit code {code}: {err.getvalue()} {out.getvalue()}")
    return json.loads(out.getvalue())


def _write(
    design: Design,
    items: Sequence[Any],
    models: dict[str, list[Any]],
    truth: dict[str, int],
    seed: int,
) -> None:
    """Write the files of a study, and the models' predictions as CSV tables."""
    classes = list(CLASSES[: design.K[0]])
    cluster = 'cluster = "patient"\n' if design.cluster else ""
    Path("study.toml").write_text(
        f'[study]\nname = "cell"\nseed = {seed}\n\n[items]\nfile = "items.csv"\n'
        f'classes = {json.dumps(classes)}\n{cluster}\n[experts]\nprotocol = "{design.protocol}"\n',
        encoding="utf-8",
    )
    roster = "".join(f'[[expert]]\nname = "{name}"\nclasses = ["{name}"]\n\n' for name in classes)
    Path("experts.toml").write_text(roster, encoding="utf-8")
    rows = [
        {"id": item.id, "text": f"item {item.id}", "patient": str(of)}
        for of, item in zip(clusters_of(design), items, strict=True)
    ]
    _table("items.csv", rows)
    _table("key.csv", [{"id": item.id, "label": classes[truth[item.id]]} for item in items])
    for name, predictions in models.items():
        _table(
            f"{name}.csv",
            [
                {"id": p.item_id, "prediction": "" if p.option is None else classes[p.option], "raw": "?"}
                for p in predictions
            ],
        )


def _table(name: str, rows: Sequence[dict[str, str]]) -> None:
    with Path(name).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
