"""Figure 3 and Table 3 of the parity paper, on public chest X-ray data of radiologists and AI systems."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.papers.numbers import DATA, Claim, Findings, Number, Row, Settings
from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.panel import Panel, Parity, measure_parity
from oversight.harness.panel.ratings import make_panel_from_grid

FILE = "chexpert_test_experts_and_ai.csv.gz"
FINDINGS = ("Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Pleural Effusion")
VOTERS = ("rad1_gt", "rad2_gt", "rad3_gt", "rad5_gt", "rad7_gt")
OTHERS = ("rad4_bench", "rad6_bench", "rad8_bench")
GROUPS = {
    "the five voters, by their own vote": (VOTERS, True),
    "the five voters, left out of the vote": (VOTERS, False),
    "three others": (OTHERS, False),
    "all eight, voters by their own vote": (VOTERS + OTHERS, True),
}
NOTES = {
    "p = .6": "the five voters, five findings; which people and findings the paper takes is not in our text",
    "p = 1": "the same; where all agree who votes on the own truth has F1 of 1, so .89 is of others, too",
}
PRINTED = {"p = .6": ("0.55", "0.15"), "p = 1": ("0.89", "0.1")}


def xrays(settings: Settings) -> Findings:
    """Recompute mean and standard deviation of people's F1, by certainty of the vote and way of scoring."""
    data = {finding: read(settings.data / FILE, finding) for finding in FINDINGS}
    table, made = [], {}
    for name, (raters, circular) in GROUPS.items():
        scores = np.array([f1_by_bin(data[f], r, circular=circular) for f in FINDINGS for r in raters])
        made[name] = scores
        table.append((name, *(f"{np.nanmean(x):.2f} ± {np.nanstd(x, ddof=1):.2f}" for x in scores.T)))
    own = made["the five voters, by their own vote"]
    rows = tuple(
        Row(
            place=f"Figure 3, F1 of people, {name}, mean and deviation",
            numbers=tuple(
                Number(printed=p, value=v)
                for p, v in zip(
                    PRINTED[name], (np.nanmean(own[:, j]), np.nanstd(own[:, j], ddof=1)), strict=True
                )
            ),
            basis=DATA,
            note=NOTES[name],
        )
        for name, j in (("p = .6", 0), ("p = 1", 2))
    )
    low, high = np.nanmean(own, axis=0)[[0, 2]]
    claims = (
        Claim(
            place="Figure 3",
            says="people's F1 grows with certainty",
            found=f"{low:.2f} at p = .6, {high:.2f} at 1; of raters left out of the vote "
            f"{np.nanmean(made['the five voters, left out of the vote'][:, 0]):.2f} and "
            f"{np.nanmean(made['the five voters, left out of the vote'][:, 2]):.2f}",
            holds=bool(high > low),
        ),
    )
    header = ("people, F1", "p ≤ .7", ".7 < p ≤ .9", "p > .9", "all")
    return Findings(rows=rows, claims=claims, table=(header, *table))


def table_3(settings: Settings) -> Findings:
    """Compute people's lead over public AI systems on Cardiomegaly: for all images, and for certain votes."""
    panel, systems = read(settings.data / FILE, "Cardiomegaly")
    rows, leads = [], []
    for name, predicted in systems.items():
        deltas = []
        for circular in (True, False):
            found = parity(panel, predicted, VOTERS, circular=circular)
            deltas += [b.detection.delta_f1 for b in (found.overall, found.bins[-1]) if b.detection]
        values = [d.value if d else float("nan") for d in deltas]
        leads.append(values)
        rows.append((name.removeprefix("ai_"), *(f"{v:+.2f}" for v in values)))
    made = np.array(leads)
    claims = (
        Claim(
            place="Table 3, Cardiomegaly",
            says="a small lead over all (.02) hides a large one where the vote is certain (.35)",
            found=f"scored as published, a lead at p = 1 over all {len(made)} public systems "
            f"({made[:, 1].min():+.2f} to {made[:, 1].max():+.2f}), hidden over all, where people are behind "
            f"({made[:, 0].min():+.2f} to {made[:, 0].max():+.2f})",
            holds=bool((made[:, 1] > 0).all() and (made[:, 0] < made[:, 1]).all()),
        ),
        Claim(
            place="Section 6",
            says="that lead is the experts' advantage",
            found="it comes with the own vote: left out of the vote, the same people are behind the systems "
            f"there, {made[:, 3].min():+.2f} to {made[:, 3].max():+.2f}",
            holds=bool((made[:, 3] > 0.1).all()),
        ),
    )
    scored = "Δ of F1 pooled over the raters, own vote: all"
    header = ("system", scored, "p = 1", "left out of the vote: all", "p > .9")
    return Findings(claims=claims, table=(header, *rows))


def f1_by_bin(data: tuple[Panel, dict[str, IntArray]], rater: str, *, circular: bool) -> FloatArray:
    """Return one rater's F1 in three bins of certainty and over all, shape (4,); NaN if undefined."""
    panel, systems = data
    found = parity(panel, next(iter(systems.values())), (rater,), circular=circular)
    scores = [b.detection.human.f1 if b.detection else None for b in (*found.bins, found.overall)]
    return np.array([np.nan if s is None else s.value for s in scores])


def parity(panel: Panel, predicted: IntArray, humans: Sequence[str], *, circular: bool) -> Parity:
    """Compare people and a system by `measure_parity`, with the five voters."""
    return measure_parity(
        panel, predicted, humans=humans, voters=VOTERS, circular=circular, positive="1", bootstrap=20
    )


def read(path: Path, finding: str) -> tuple[Panel, dict[str, IntArray]]:
    """Return eight radiologists' ratings on a finding, and the decisions of AI systems that miss no image."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["finding"] == finding]
    raters = VOTERS + OTHERS
    grid = np.array([[int(float(row[r])) for r in raters] for row in rows])
    names = [n for n in rows[0] if n.startswith("ai_") and all(row[n] for row in rows)]
    systems = {n: np.array([int(float(row[n])) for row in rows]) for n in names}
    return make_panel_from_grid(grid, ["0", "1"], list(raters)), systems
