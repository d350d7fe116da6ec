"""Figures 2 to 4 of the partitioned-supervision paper: weights, and searches with q or its transform."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.numbers import FORMULA, Claim, Findings, Missing, Number, Row, Settings
from benchmarks.papers.partitioned_maths import (
    matching_sample_size,
    mix_variance,
    optimal_weight,
    variances_at,
)
from benchmarks.papers.partitioned_printed import (
    COLUMNS,
    FIGURE_4,
    OPTIONS,
    ORD_EVAL,
    TEST_ITEMS,
    VALIDATION_ITEMS,
)
from benchmarks.papers.pictures import save
from oversight.harness.estimate.estimators import complementary_accuracy
from oversight.harness.plot.drawing import DASHES, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

K, N_O = 4, COLUMNS["MedQA-USMLE"].n_o
A = float(ORD_EVAL["MedQA-USMLE"]) / 100
CANDIDATES, SPREAD = 30, 0.03


def figure_2(_settings: Settings) -> Findings:
    """Compute the optimal weight and standard deviations for several n_c/n_o (MedQA, A = .9266).

    The figure prints no numbers, so only claims are checked.
    """
    equal = matching_sample_size(K, A, N_O) / N_O
    rows = [(f"{ratio:g}", *_weights(ratio)) for ratio in (1, 2, 3, equal, 4, 6, 10, 20)]
    shown = [
        (r, f"{w:.3f}", f"{100 * b:.3f}", f"{100 * h:.3f}", f"{h**2 / b**2 - 1:.1%}") for r, w, b, h in rows
    ]
    at_3, beyond = _weights(3)[0], [h > b for r, _, b, h in rows if float(r) > 6 or float(r) < 1.01]
    claims = (
        Claim(
            place="Figure 2a",
            says="at n_c ≈ 3 n_o the best weight is near ½",
            found=f"{at_3:.3f}; ½ itself at n_c = {equal:.3f} n_o, where the two variances match (Eq. 5)",
            holds=abs(at_3 - 0.5) < 0.02,
        ),
        Claim(
            place="Figure 2b",
            says="for n_c > 6 n_o the best variance is below that at ½ (also for n_c < n_o, which the "
            "figure does not show)",
            found=f"by {rows[5][3] ** 2 / rows[5][2] ** 2 - 1:.0%} at 6 n_o, "
            f"{rows[-1][3] ** 2 / rows[-1][2] ** 2 - 1:.0%} at 20",
            holds=all(beyond),
        ),
    )
    ends = [optimal_weight(K, a, N_O, (K - 1) * N_O) for a in (1.0, 0.0)]
    range_row = Row(
        place="Section 3.2, range of w* at n_c = (K − 1) n_o",
        numbers=(Number(printed="0.5", value=ends[0]), Number(printed="1", value=ends[1])),
        basis=FORMULA,
        note="at A near 1 the weight is ½, which explains why IVW is near IVW-0.5, not why it is near Ord, "
        "as the text has it",
    )
    header = ("n_c/n_o", "w*", "deviation at w*, points", "at ½", "variance at ½ over the best")
    return Findings(rows=(range_row,), claims=claims, table=(header, *shown))


def _weights(ratio: float) -> tuple[float, float, float]:
    """Return w* (Eq. 8), and the standard deviations of the mixture at w* and at ½."""
    n_c = round(ratio * N_O)
    v_o, v_c = variances_at(K, A, N_O, n_c)
    w = optimal_weight(K, A, N_O, n_c)
    return w, mix_variance(w, v_o, v_c) ** 0.5, mix_variance(0.5, v_o, v_c) ** 0.5


def figures_3_and_4(settings: Settings) -> Findings:
    """Check those claims about the twelve printed accuracies that can be checked without the models."""
    why = (
        "needs the searches themselves: optimizer, executor, rounds and repetitions are not stated, no logs "
        "are published"
    )
    bars = Missing(
        place="Figure 3, seven hand-made workflows and two searches on three benchmarks", count=27, why=why
    )
    printed = Missing(place="Figure 4 and Appendix H, test accuracy by q and by trans", count=12, why=why)
    whole = all(_is_share(v, TEST_ITEMS[name]) for (name, _), cell in FIGURE_4.items() for v in cell)
    same, spread = _searches(settings.draws(4000, 1000))
    claims = (
        Claim(
            place="Figure 4, Appendix G",
            says="accuracies on 458 and 800 test items",
            found="each of the twelve is a whole number of right answers of one run",
            holds=whole,
        ),
        Claim(
            place="Appendix H",
            says="the transform has (K − 1)² times the variance of q, which is why q selects better on GPQA",
            found=f"the variance is as said; but trans is q on another scale, so the iteration with the "
            f"best validation "
            f"score is the same: of {same[1]:,} simulated searches {same[0]:,} chose alike. Only what a "
            f"search does "
            "between can differ (AFlow's parents, what an optimizer reads)",
            holds=same[0] < same[1],
        ),
    )
    header = ("benchmark", "search", "q", "trans", "trans − q", "deviation of two equal searches", "ratio")
    rows = [
        (name, method, q, trans, f"{float(trans) - float(q):+.1f}", f"{100 * spread[name]:.1f}",
         f"{(float(trans) - float(q)) / (100 * spread[name]):+.1f}")
        for (name, method), (q, trans) in FIGURE_4.items()
    ]  # fmt: skip
    return Findings(missing=(bars, printed), claims=claims, table=(header, *rows))


def _is_share(printed: str, n: int) -> bool:
    return abs(100 * round(float(printed) * n / 100) / n - float(printed)) <= 0.05 + 1e-9


def _searches(draws: int) -> tuple[tuple[int, int], dict[str, float]]:
    """Simulate searches that select a candidate by its score q, and by q transformed to the accuracy scale.

    A search has thirty candidates, whose accuracies are normal around the printed level with a standard
    deviation of three points, and one complementary label per validation item.

    Returns
    -------
    (int, int), dict
        The pair: number of searches in which both scores select the same candidate, and number of all
        searches. The dictionary: benchmark → standard deviation of the difference of two searches' test
        scores.
    """
    alike, spread = 0, {}
    for number, (name, n) in enumerate(VALIDATION_ITEMS.items()):
        rng, options = np.random.default_rng([2, number]), OPTIONS[name]
        level = np.mean([float(v) / 100 for (b, _), cell in FIGURE_4.items() if b == name for v in cell])
        accuracy = np.clip(rng.normal(level, SPREAD, (draws, 2, CANDIDATES)), 0, 1)
        right = n - rng.binomial(n, (1 - accuracy) / (options - 1))
        chosen = right.argmax(axis=2)
        trans = np.vectorize(lambda S, k=options, m=n: complementary_accuracy(k, int(S), m))(right[:, 0])
        alike += int((trans.argmax(axis=1) == chosen[:, 0]).sum())
        best = np.take_along_axis(accuracy, chosen[:, :, None], axis=2)[:, :, 0]
        score = rng.binomial(TEST_ITEMS[name], best) / TEST_ITEMS[name]
        spread[name] = float((score[:, 0] - score[:, 1]).std(ddof=1))
    return (alike, draws * len(VALIDATION_ITEMS)), spread


def draw_weights(folder: Path) -> None:
    """Draw the recomputed Figure 2."""
    ratios = np.linspace(1, 20, 200)
    made = np.array([_weights(r) for r in ratios])

    def draw(left: Axes, right: Axes) -> None:
        left.plot(ratios, made[:, 0], color=SERIES[0], lw=2.2, label="best, Eq. 8")
        left.axhline(0.5, color=SERIES[1], ls=DASHES[1], lw=1.8, label="fixed at ½")
        left.set(title="Weight of the ordinary labels", xlabel="n_c / n_o", ylim=(0, 1))
        right.semilogy(ratios, made[:, 1] ** 2, color=SERIES[0], lw=2.2, label="at the best weight")
        right.semilogy(ratios, made[:, 2] ** 2, color=SERIES[1], ls=DASHES[1], lw=1.8, label="at ½")
        right.set(title="Variance of the mixture", xlabel="n_c / n_o")
        for axes in (left, right):
            axes.axvline(matching_sample_size(K, A, N_O) / N_O, color=SERIES[5], lw=0.9, ls=DASHES[2])
            axes.legend()

    save(folder / "002-figure-2.png", draw, panels=2)
