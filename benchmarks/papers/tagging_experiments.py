"""Simulate both experiments with annotators whose agreement is as printed, and with AI-2's printed AP.

For a category, only its frequency and the annotators' α are printed. If annotators err independently and tag
as many of the N images as the n that are positive, these two numbers determine their sensitivity s and rate
of false tags f: α = 1 − [n s(1 − s) + (N − n) f(1 − f)]/[N π(1 − π)], f = (1 − s) n/(N − n), π = n/N.

The paper orders the images that an annotator tagged, and does not mention the untagged images. So two rules
are tried. By the first, only tagged images are retrieved, and AP in the best order equals recall. By the
second, all images are ranked, tagged images first, as in this project.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.numbers import SIMULATED, Claim, Findings, Number, Row, Settings
from benchmarks.papers.pictures import save
from benchmarks.papers.tagging_printed import (
    AI_1,
    AI_2,
    ALPHA,
    BEST_GUIDED,
    BEST_ORDER,
    IMAGES,
    PEOPLE,
    POSITIVE,
    STANDING,
    TABLE_1,
    WORST_ORDER,
)
from oversight.harness.arrays import FloatArray
from oversight.harness.estimate import find_root
from oversight.harness.panel import HumanLevel
from oversight.harness.panel.human_level import PAIRED_T, average_precision, rank
from oversight.harness.plot.drawing import SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RULES = ("tagged, best order", "tagged, worst order", "all, best order", "all, worst order", "all, expected")


def experiments(settings: Settings) -> Findings:
    """Simulate people's MAP, by scoring rule and order of images, and AI-2's rank; compare with the paper."""
    draws = settings.draws(60, 8)
    first, second = ([simulate(PEOPLE[e], seed) for seed in range(draws)] for e in (1, 2))
    best, worst = (np.array([_people(found[RULES[j]])[:3] for found in first]) for j in (0, 1))
    guided = np.array([_people(found[RULES[0]])[0] for found in second])
    why = "simulated annotators are equally good and err independently; real ones differ"
    rows = (
        Row(
            place="Section 3.4, three best MAP, best order, experiment 1",
            numbers=tuple(_number(p, 100 * best[:, j]) for j, p in enumerate(BEST_ORDER)),
            basis=SIMULATED,
            note=why,
        ),
        Row(
            place="Section 3.4, best MAP, worst order, experiment 1",
            numbers=(_number(WORST_ORDER, 100 * worst[:, 0]),),
            basis=SIMULATED,
            note="simulated annotators tag falsely as often as they miss; who tags falsely less often "
            "loses less",
        ),
        Row(
            place="Section 3.4, best MAP, best order, experiment 2",
            numbers=(_number(BEST_GUIDED, 100 * guided),),
            basis=SIMULATED,
            note="with the α of experiment 1 (.904 and .913 over all)",
        ),
    )
    behind = float(np.mean([found[RULES[1]].standings[0].worse_than for found in first]))
    apart = float(100 * (best[:, 0] - worst[:, 0]).mean())
    claims = (
        Claim(
            place="Section 3.4",
            says="the order of tagged images decides much (4.9 points of MAP between the best of either)",
            found=f"{apart:.1f} points",
            holds=apart > 2,
        ),
        Claim(
            place="Section 3.4",
            says="in the worst order nobody is better than AI-2",
            found=f"{behind:.2f} of 18 simulated people are",
            holds=behind < 0.5,
        ),
    )
    return Findings(rows=rows, claims=claims, table=_standings(first, second))


def _number(printed: str, values: FloatArray) -> Number:
    """Return the mean of simulated values. Its `error` is the standard deviation of a single value."""
    return Number(printed=printed, value=float(values.mean()), error=float(values.std(ddof=1)))


def _people(found: HumanLevel) -> list[float]:
    return [score for _, kind, score in found.ranking if kind == "person"]


def _standings(*experiments: list[dict[str, HumanLevel]]) -> tuple[tuple[str, ...], ...]:
    header = (
        "AI-2, one-sided t test at 5 %",
        "MAP of people",
        "better than",
        "on a par",
        "worse than",
        "printed",
    )
    rows = []
    for number, found in enumerate(experiments, start=1):
        for rule in found[0]:
            standing = [f[rule].standings[0] for f in found]
            counts = ((s.better_than, s.on_par, s.worse_than) for s in standing)
            means = np.mean(list(counts), axis=0)
            score = 100 * np.mean([np.mean(_people(f[rule])) for f in found])
            printed = ", ".join(map(str, STANDING[number])) if rule == RULES[0] else "–"
            name = f"experiment {number}: {rule}"
            rows.append((name, f"{score:.1f}", *(f"{m:.1f}" for m in means), printed))
    return header, *rows


def simulate(people: int, seed: int) -> dict[str, HumanLevel]:
    """Simulate an experiment. Returns AI-2's rank by each rule, with uncorrected tests as in the paper.

    The result also has the rank by the first rule with Holm's correction.
    """
    rng = np.random.default_rng([3, people, seed])
    hit = np.array([sensitivity(n, a) for n, a in zip(POSITIVE.tolist(), ALPHA.tolist(), strict=True)])
    false = (1 - hit) * POSITIVE / (IMAGES - POSITIVE)
    found = rng.binomial(POSITIVE, hit, (people, len(TABLE_1)))
    wrong = rng.binomial(IMAGES - POSITIVE, false, (people, len(TABLE_1)))
    by_rule: dict[str, dict[str, FloatArray]] = {rule: {} for rule in RULES}
    for j in range(people):
        rows = zip(found[j].tolist(), wrong[j].tolist(), POSITIVE.tolist(), strict=True)
        for rule, precisions in zip(RULES, np.array([_precisions(*row) for row in rows]).T, strict=True):
            by_rule[rule][f"p{j}"] = precisions
    made = {rule: _rank(by_rule[rule], "none") for rule in RULES}
    return made | {f"{RULES[0]}, with Holm": _rank(by_rule[RULES[0]], "holm")}


def _rank(people: dict[str, FloatArray], correction: str) -> HumanLevel:
    return rank(people, {"AI-2": AI_2}, "mean average precision", PAIRED_T, correction, {})


def _precisions(found: int, wrong: int, positive: int) -> tuple[float, ...]:
    """Return an annotator's AP by each rule, for `found` correct tags and `wrong` incorrect tags."""
    place = np.arange(1, found + 1)
    relevant, tagged = np.zeros(IMAGES), np.zeros(IMAGES)
    relevant[:positive], tagged[:found], tagged[positive : positive + wrong] = 1, 1, 1
    ranked = average_precision(relevant, tagged)
    worst = float((place / (wrong + place)).sum() / positive)
    return found / positive, worst, ranked.best, ranked.worst, ranked.expected


def sensitivity(n: int, alpha: float) -> float:
    """Return the sensitivity s at which the annotators' agreement in a category of n images is `alpha`."""
    share = n / IMAGES

    def missing(s: float) -> float:
        f = (1 - s) * share / (1 - share)
        return alpha - 1 + (share * s * (1 - s) + (1 - share) * f * (1 - f)) / (share * (1 - share))

    return find_root(missing, 0.5, 1.0)


def draw(folder: Path) -> None:
    """Draw Figure 1 from the printed numbers: α of people and AP of both systems, by category."""
    place = np.arange(len(TABLE_1))

    def one(axes: Axes) -> None:
        axes.plot(place, ALPHA, "s", color=SERIES[1], ms=6, label="people, Krippendorff's α")
        axes.plot(place, AI_1, "o", color=SERIES[0], ms=5, label="AI-1, AP")
        axes.plot(place, AI_2, "^", color=SERIES[2], ms=6, label="AI-2, AP")
        axes.axhline(0.8, color=SERIES[5], lw=0.9, ls=(0, (4, 3)))
        axes.set_xticks(place, list(TABLE_1), rotation=60, ha="right")
        axes.set(
            title="Twenty categories, by how well people agree (dashed: .8, reliable)", ylim=(0.55, 1.01)
        )
        axes.legend(loc="lower left")

    save(folder / "003-categories.png", one, height=4.4)
