"""Measure coverage in ten designs with the real commands: write input files, run `oversight … --json`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks._coverage_designs import CLASSES, Design, clusters_of, true_accuracies, world
from benchmarks._coverage_kinds import Cell, Outcome, compare_ends
from benchmarks._study_files import call_command, write_study, write_table

SETTINGS = """\
[study]
name = "cell"
seed = {seed}

[items]
file = "items.csv"
classes = {classes}
{cluster}
[experts]
protocol = "{protocol}"
"""
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
    seen = [
        _draw_one(design, np.random.default_rng([number, seed]), seed)
        for number, design in enumerate(COMMAND_CELLS)
        for seed in range(draws)
    ]
    cell = Cell.of("commands", seen)
    shares = {"coverage": round(cell.coverage, 4), "withheld": round(cell.withheld, 4)}
    return {"cells": len(COMMAND_CELLS), "draws": draws, **shares}


def _draw_one(design: Design, rng: np.random.Generator, seed: int) -> Outcome:
    """Run one study with commands, and check the first model's accuracy or the difference."""
    items, models, key, _ = world(design, rng)
    classes = CLASSES[: design.K[0]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cluster = 'cluster = "patient"\n' if design.cluster else ""
        given = {"seed": seed, "classes": json.dumps(classes), "cluster": cluster}
        write_study(folder, SETTINGS.format(protocol=design.protocol, **given), {c: c for c in classes})
        clusters = clusters_of(design).tolist()
        rows = [(item.id, f"item {item.id}", of) for item, of in zip(items, clusters, strict=True)]
        write_table(folder / "items.csv", ("id", "text", "patient"), rows)
        write_table(folder / "key.csv", ("id", "label"), [(x, classes[y]) for x, y in key.items()])
        for model, predictions in models.items():
            said = [(p.item_id, "" if p.option is None else classes[p.option], "?") for p in predictions]
            write_table(folder / f"{model}.csv", ("id", "prediction", "raw"), said)
            call_command(folder, "predictions", "import", str(folder / f"{model}.csv"), "--model", model)
        for _ in range(len(models) + 1):
            call_command(folder, "label", "route")
            call_command(folder, "label", "simulate", "--key", str(folder / "key.csv"))
        exact = true_accuracies(design)
        truth = exact[0]
        if design.kind == "difference":
            truth, (found,) = exact[0] - exact[1], call_command(folder, "compare")["comparisons"]
        else:
            found = call_command(folder, "estimate")["models"]["m0"]["accuracy"]
        return compare_ends(truth, found and SimpleNamespace(**found))
