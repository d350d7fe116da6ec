"""Formulas of the parity paper, and the bias if annotators are scored by a vote that includes their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.numbers import FORMULA, Claim, Findings, Missing, Number, Row, Settings
from benchmarks.papers.pictures import save
from oversight.harness.arrays import FloatArray
from oversight.harness.panel import measure_parity
from oversight.harness.panel.parity import expected_scores, probability_at_least
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.plot.drawing import DASHES, MARKERS, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RATERS = 5
BINS = ("p = .6", "p = .8", "p = 1")


def expected(_settings: Settings) -> Findings:
    """Recompute Equations 1, 2 and 7 to 9, and Table 1."""
    sizes = [n for n in range(1, 201) if abs(probability_at_least(0.6, n) - 1.6e-5) <= 0.5e-6]
    rows = (
        Row(place="Eq. 1, per cent right at p_d = .6",
            numbers=(Number(printed="60", value=100 * expected_scores(0.6, 0.5).accuracy),), basis=FORMULA),
        Row(place="Table 1, P(80 % or more) at p_d = .6",
            numbers=(Number(printed="1.6e-5", value=probability_at_least(0.6, 100)),), basis=FORMULA,
            note=f"N is not in our text; of 1 to 200 only {', '.join(map(str, sizes))} gives these digits"),
        Row(place="Table 1, P(80 % or more) at p_d = .9",
            numbers=(Number(printed="0.99", value=probability_at_least(0.9, 100)),), basis=FORMULA,
            note=".9992 is cut off, not rounded"),
        Row(place="Section 6, per cent chance of 80 % or more at N = 30",
            numbers=(Number(printed="2", value=100 * probability_at_least(0.6, 30)),), basis=FORMULA,
            note=f"of an expert at p_d = .6; by chance alone, as the text has it, it is "
            f"{100 * probability_at_least(0.5, 30):.2f} %"),
        Row(place="Section 7, least p_d of a vote over five labels",
            numbers=(Number(printed="0.2", value=1 / 5),), basis=FORMULA),
    )  # fmt: skip
    half, rare = probability_at_least(0.5, 100, 0.5), expected_scores(0.9, 0.01)
    claims = (
        Claim(place="Table 1", says="at p_d = .5 expert and coin both reach 50 % about half of the time",
              found=f"{half:.3f} at N = 100", holds=0.45 < half < 0.55),
        Claim(place="Eq. 7 to 9", says="few positives depress expected precision and F1 even at high p_d",
              found=f"p_d = .9, 1 % positive: precision {rare.precision:.4f}, recall {rare.recall:g}, F1 "
              f"{rare.f1:.4f}",
              holds=rare.f1 < 0.2),
    )  # fmt: skip
    table = tuple(
        (f"{p:.1f}", *(f"{probability_at_least(p, n):.2g}" for n in (30, 100, 1000)),
         *(f"{expected_scores(p, m).f1:.3f}" for m in (0.01, 0.1, 0.5)))
        for p in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    )  # fmt: skip
    header = ("p_d", "P(≥ 80 %), N = 30", "N = 100", "N = 1,000", "expected F1, 1 % positive", "10 %", "50 %")
    lost = Missing(
        place="Table 3, Cardiomegaly: Δ over all (.02) and at p_d → 1 (.35)",
        count=2,
        why="answers of two language models that are not published",
    )
    return Findings(rows=rows, claims=claims, missing=(lost,), table=(header, *table))


def circularity(settings: Settings) -> Findings:
    """Compare people and an equally good model, for votes with and without the scored person's own label."""
    items = settings.draws(60000, 8000)
    rows, worst = [], {}
    for kind in ("alike", "coins"):
        for circular in (True, False):
            gaps = gap(kind, items, circular=circular)
            how = "by a vote of their own, as published" if circular else "left out of the vote"
            rows.append((kind, how, *(f"{g:+.3f}" for g in gaps)))
            worst[kind, circular] = float(np.abs(gaps).max())
    header = ("people and model", "people are scored", *BINS, "all")
    claims = (
        Claim(
            place="Section 6",
            says="stratified by certainty, results compare people and model reliably where it is high",
            found=f"not if people vote on their own truth: alike, people lead by up to "
            f"{worst['alike', True]:.2f}; "
            f"coins by {worst['coins', True]:.2f}. Left out of the vote: {worst['alike', False]:.3f} and "
            f"{worst['coins', False]:.3f}",
            holds=worst["alike", True] < 0.02,
        ),
    )
    return Findings(claims=claims, table=(header, *rows))


def gap(kind: str, items: int, *, circular: bool) -> FloatArray:
    """Simulate people and an equally good model. Returns people's lead, by bin of certainty and over all.

    Five raters and the model say yes with the same probability: one drawn from [0, 1] per item for
    ``"alike"``, and ½ for ``"coins"``. `circular` includes a rater's own label in the vote.
    """
    rng = np.random.default_rng([4, items])
    chance = rng.random(items) if kind == "alike" else np.full(items, 0.5)
    labels = (rng.random((items, RATERS + 1)) < chance[:, None]).astype(np.int64)
    panel = make_panel_from_grid(labels[:, :RATERS], ["no", "yes"], [f"r{j}" for j in range(RATERS)])
    found = measure_parity(panel, labels[:, RATERS], circular=circular)
    deltas = {b.name: b.delta.value for b in found.bins}
    return np.array([*deltas.values(), found.overall.delta.value])


def draw(folder: Path) -> None:
    """Draw Table 1 as curves, and the bias of scoring people by a vote that includes their own."""
    p = np.linspace(0.5, 1, 101)

    def both(left: Axes, right: Axes) -> None:
        for j, n in enumerate((30, 100, 1000)):
            chance = [probability_at_least(x, n) for x in p.tolist()]
            left.plot(p, chance, color=SERIES[j], ls=DASHES[j], lw=2, label=f"N = {n:,}")
        left.set(title="Chance of an expert to score 80 %", xlabel="p, certainty of the vote")
        left.legend()
        for j, label in enumerate(("by a vote of their own", "left out of the vote")):
            gaps = gap("alike", 60000, circular=not j)
            color, marker = SERIES[1 - j], MARKERS[j]
            right.plot(range(3), gaps[:3], color=color, ls=DASHES[j], marker=marker, lw=2, label=label)
        right.set_xticks(range(3), BINS)
        right.set(title="People − model, who are alike", ylim=(-0.02, 0.2))
        right.legend()

    save(folder / "004-parity.png", both, panels=2)
