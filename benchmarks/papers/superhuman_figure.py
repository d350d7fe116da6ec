"""Simulate Figure 3 of the superhuman paper: bounds against the number of annotators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.numbers import Claim, Findings, Missing, Settings
from benchmarks.papers.pictures import save
from benchmarks.papers.superhuman_tables import KAPPA, RIGHT, WHERE_WRONG
from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.panel import compute_bounds_by_size
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.plot.drawing import DASHES, MARKERS, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ITEMS, ANNOTATORS = 100, 10
CLASSES = {"Color": 3, "Shape": 5}
ELSEWHERE = (0.95, 0.98, 1.0)
"""Accuracies of the strong model on images whose aggregate label is right; they are not printed, so several
values are tried."""
CURVES = ("L", "U_e", "U_t", "U_panel")


HEADER = (
    "task",
    "model right where the aggregate is",
    "model",
    "people",
    "U(e) of 10",
    "U(t) of 10",
    "L of 10",
    "L above U(e) from",
    "L above U(t) from",
)


def convergence(settings: Settings) -> Findings:
    """Simulate the curves of both tasks with images whose difficulty fits the printed numbers."""
    draws = settings.draws(100, 30)
    made = {name: [curves(name, a, draws) for a in ELSEWHERE] for name in CLASSES}
    table: list[tuple[str, ...]] = []
    narrower, above, tighter = [], [], []
    for name, found in made.items():
        for a, (mean, human, machine) in zip(ELSEWHERE, found, strict=True):
            L, U_e, U_t = mean[0], mean[1], mean[2]
            crossed = [_first(L, bound) for bound in (U_e, U_t)]
            table.append(
                (
                    name,
                    f"{a:.2f}",
                    f"{machine:.3f}",
                    f"{human:.3f}",
                    f"{U_e[-1]:.3f}",
                    f"{U_t[-1]:.3f}",
                    f"{L[-1]:.3f}",
                    *crossed,
                )
            )
            gap = U_t[1:] - U_e[1:]
            narrower.append(bool((np.diff(gap) < 0).all() and (np.diff(L) > -0.01).all()))
            above.append(bool((mean[1:3, 1:] >= human).all() and (machine + 0.01 >= L).all()))
            tighter.append(bool((U_e[1:] < U_t[1:]).all()))
    lost = Missing(
        place="RQ3, the strong model beats both bounds with more than 4 (color) and 6 (shape) annotators",
        count=2,
        why="depends on the strong models' accuracies, which only the picture shows, and on the annotations",
    )
    claims = _claims(above=all(above), narrower=all(narrower), tighter=all(tighter))
    return Findings(claims=claims, missing=(lost,), table=(HEADER, *table))


def _claims(*, above: bool, narrower: bool, tighter: bool) -> tuple[Claim, ...]:
    """Return the paper's claims about the figure, and whether they hold in every simulation."""
    return (
        Claim(
            place="RQ1",
            says="L is below the model's accuracy, U(e) and U(t) above the people's",
            found="for every number of annotators, both tasks",
            holds=above,
        ),
        Claim(
            place="RQ1",
            says="U(t) − U(e) shrinks with annotators, and L grows",
            found="both tasks (means over simulated panels)",
            holds=narrower,
        ),
        Claim(
            place="RQ1",
            says="U(e) is the tighter bound",
            found="for every number of annotators",
            holds=tighter,
        ),
    )


def curves(name: str, elsewhere: float, draws: int) -> tuple[FloatArray, float, float]:
    """Simulate panels, and return means over them.

    Returns three means: L, U(e), U(t) and U(p) for 1 to 10 annotators, shape (4, 10); the accuracy of people;
    the accuracy of the model.
    """
    total, human, machine = np.zeros((len(CURVES), ANNOTATORS)), 0.0, 0.0
    for seed in range(draws):
        rng = np.random.default_rng([3, seed])
        truth, grid = simulate_panel(name, rng)
        predicted = simulate_model(name, elsewhere, truth, grid, rng)
        labels = [str(c) for c in range(CLASSES[name])]
        panel = make_panel_from_grid(grid, labels, [str(j) for j in range(ANNOTATORS)])
        points = compute_bounds_by_size(panel, predicted, points=ANNOTATORS, shuffles=3, seed=seed)
        total += np.array([[getattr(p, c) or 0.0 for p in points] for c in CURVES])
        human += float((grid == truth[:, None]).mean())
        machine += float((predicted == truth).mean())
    total[1:, 0] = np.nan
    return total / draws, human / draws, machine / draws


def simulate_panel(name: str, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Draw true labels, and labels of ten annotators whose probability p of being right varies by image.

    p has a Beta distribution with the printed mean P(ℓ_i = ℓ*) and second moment
    P(ℓ_i = ℓ*)·P(ℓ_i = ℓ* | ℓ_j = ℓ*). A wrong label is the image's most tempting one with a probability at
    which the agreement of pairs results in the printed Fleiss' κ. Classes are equally frequent.
    """
    C, (given, mean) = CLASSES[name], RIGHT[name]
    variance = mean * (given - mean)
    size = mean * (1 - mean) / variance - 1
    p = rng.beta(mean * size, (1 - mean) * size, ITEMS)
    agree = 1 / C + (1 - 1 / C) * float(KAPPA[name][1])
    alike = (agree - mean * given) / (1 - 2 * mean + mean * given)
    tempted = (1 + ((C - 2) * (alike * (C - 1) - 1)) ** 0.5) / (C - 1)
    truth = rng.integers(C, size=ITEMS)
    offset = rng.integers(1, C, size=ITEMS)[:, None]
    other = (offset - 1 + rng.integers(1, C - 1, size=(ITEMS, ANNOTATORS)) if C > 3 else 2 - offset) % (
        C - 1
    ) + 1
    wrong = np.where(rng.random((ITEMS, ANNOTATORS)) < tempted, offset, other)
    right = rng.random((ITEMS, ANNOTATORS)) < p[:, None]
    return truth, np.where(right, truth[:, None], (truth[:, None] + wrong) % C)


def simulate_model(
    name: str, elsewhere: float, truth: IntArray, grid: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw labels of the strong model.

    On images whose aggregate label is wrong, its accuracy is the one that the paper prints; on all other
    images, it is `elsewhere`.
    """
    C = CLASSES[name]
    votes = np.stack([(grid == c).sum(axis=1) for c in range(C)], axis=1)
    wrong = votes.argmax(axis=1) != truth
    chance = np.where(wrong, float(WHERE_WRONG[f"{name} M(s)"][0]), elsewhere)
    missed = (truth + rng.integers(1, C, size=ITEMS)) % C
    return np.where(rng.random(ITEMS) < chance, truth, missed)


def _first(L: FloatArray, bound: FloatArray) -> str:
    above = np.flatnonzero(L[1:] > bound[1:])
    return f"{above[0] + 2} annotators" if len(above) else "never"


def draw(folder: Path) -> None:
    """Draw the simulated Figure 3, with an accuracy of .98 where the aggregate label is right."""
    styles = ("model, at least L", "people, at most U(e)", "at most U(t)", "at most U(p)")

    def both(*axes: Axes) -> None:
        for one, name in zip(axes, CLASSES, strict=True):
            mean, human, machine = curves(name, 0.98, 100)
            for j, label in enumerate(styles):
                one.plot(
                    range(1, ANNOTATORS + 1),
                    mean[j],
                    color=SERIES[j],
                    ls=DASHES[j],
                    marker=MARKERS[j],
                    ms=4,
                    lw=1.8,
                    label=label,
                )
            one.axhline(human, color=SERIES[5], lw=1, ls=(0, (1, 2)), label="people, truth")
            one.axhline(machine, color=SERIES[5], lw=1, ls=(0, (4, 3)), label="model, truth")
            one.set(title=name, xlabel="annotators per image", ylim=(0.4, 1.02))
        axes[0].legend(fontsize=9, loc="lower right")

    save(folder / "000-figure-3.png", both, panels=2)
