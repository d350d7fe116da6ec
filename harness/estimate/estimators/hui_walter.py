"""Two experts of the same field on every question, and no gold: Hui and Walter's model.

Questions about predicted options (hits) and about others (misses) are two populations with the
known relation of prevalences A and (1 − A)/(K − 1). Two exchangeable experts with sensitivity s and
specificity t whose errors are independent given the truth answer yes twice, once or never with
probabilities (prevalence φ)

    φ s² + (1−φ)(1−t)²,   2[φ s(1−s) + (1−φ) t(1−t)],   φ(1−s)² + (1−φ) t²

so that 2 × 2 free frequencies determine the 3 unknowns (Hui & Walter 1980, Biometrics 36, whose two
populations have unrelated prevalences). Experts who make the *same* mistakes break the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import check_count, check_level, z_value
from oversight.harness.types import Counts, Estimate, Interval, Note, NoteKind

HUI_WALTER_ASSUMPTIONS = (
    "both experts of a question judge independently given the truth, with equal error rates",
    "hit and miss questions were drawn without a look at the truth",
)


def cell_probabilities(A: float, s: float, t: float, K: int) -> FloatArray:
    """Shape (2, 3): P(two yes, one yes, no yes) for hit (row 0) and miss questions (row 1)."""
    prevalence = np.array([[A], [(1 - A) / (K - 1)]])
    true = np.array([s * s, 2 * s * (1 - s), (1 - s) ** 2])
    false = np.array([(1 - t) ** 2, 2 * t * (1 - t), t * t])
    cells: FloatArray = prevalence * true + (1 - prevalence) * false
    return cells


def cell_jacobian(A: float, s: float, t: float, K: int) -> FloatArray:
    """Derivatives of `cell_probabilities` in (A, s, t): shape (3, 2, 3)."""
    prevalence = np.array([[A], [(1 - A) / (K - 1)]])
    change = np.array([[1.0], [-1 / (K - 1)]])
    true = np.array([s * s, 2 * s * (1 - s), (1 - s) ** 2])
    false = np.array([(1 - t) ** 2, 2 * t * (1 - t), t * t])
    d_true = np.array([2 * s, 2 - 4 * s, -2 * (1 - s)])
    d_false = np.array([-2 * (1 - t), 2 - 4 * t, 2 * t])
    return np.stack([change * (true - false), prevalence * d_true, (1 - prevalence) * d_false])


def fisher_information(A: float, s: float, t: float, K: int, sizes: Sequence[float]) -> FloatArray:
    """Σ_populations n Σ_cells ∂p ∂pᵀ/p, shape (3, 3), for ``sizes`` = questions (hit, miss)."""
    p = np.maximum(cell_probabilities(A, s, t, K), 1e-12)
    d = cell_jacobian(A, s, t, K)
    information: FloatArray = np.einsum("ihc,jhc,hc,h->ij", d, d, 1 / p, np.asarray(sizes, dtype=np.float64))
    return information


def hui_walter_fit(hits: Sequence[int], misses: Sequence[int], K: int) -> tuple[float, float, float]:
    """Maximum-likelihood (A, s, t) with s + t > 1, from three starts.

    ``hits`` and ``misses`` are (two yes, one yes, no yes). The mirror solution (s, t) → (1−t, 1−s)
    is excluded by bounding both rates below by ½: experts better than a coin.
    """
    from scipy.optimize import minimize  # a third of a second, which only this function need pay

    counts = np.array([hits, misses], dtype=np.float64)

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        p = np.maximum(cell_probabilities(x[0], x[1], x[2], K), 1e-12)
        slope = -np.einsum("ihc,hc->i", cell_jacobian(x[0], x[1], x[2], K), counts / p)
        return -float((counts * np.log(p)).sum()), slope

    eps = 1e-6
    bounds = [(eps, 1 - eps), (0.5, 1 - eps), (0.5, 1 - eps)]
    first = (counts[0, 0] + counts[0, 1] / 2) / counts[0].sum()
    starts = [(min(max(a, 0.02), 0.98), s, t) for a, s, t in ((first, 0.95, 0.97), (0.5, 0.8, 0.8))]
    fits = [minimize(loss, x, jac=True, method="L-BFGS-B", bounds=bounds) for x in starts]
    best = min(fits, key=lambda fit: float(fit.fun))
    return float(best.x[0]), float(best.x[1]), float(best.x[2])


def hui_walter_accuracy(
    hits: Sequence[int], misses: Sequence[int], K: int, *, level: float = 0.95
) -> Estimate:
    """Accuracy without gold items, with a Wald interval on the logit scale.

    The information is Fisher's at the estimate moved at least ½/n off the edges, so that no error
    seen is not taken for no error possible; the interval is logit Â ± z·se/(Â(1 − Â)).

    Parameters
    ----------
    hits, misses
        Numbers of questions with (two yes, one yes, no yes), about predicted and other options.
    K
        Options, the same for all items.

    Raises
    ------
    NotIdentified
        If one of the two kinds of question is missing (two free frequencies for three unknowns), or
        the answers do not depend on the truth (s + t near 1), so that the information is singular.
    EstimateError
        If a count is negative or K < 2.
    """
    check_level(level)
    if K < 2:
        raise EstimateError(f"K must be at least 2, is {K}")
    for name, cells in (("hits", hits), ("misses", misses)):
        if len(cells) != 3:
            raise EstimateError(f"{name} must hold 3 counts (two yes, one yes, none), holds {len(cells)}")
        for j, count in enumerate(cells):
            check_count(f"{name}[{j}]", count)
        if sum(cells) == 0:
            raise NotIdentified(
                f"there are no {name}: one population gives 2 frequencies for 3 unknowns; mix questions "
                "about predicted and about other options, or add gold items"
            )
    n = sum(hits) + sum(misses)
    A, s, t = hui_walter_fit(hits, misses, K)
    edge = 0.5 / n
    inside = [min(max(x, edge), 1 - edge) for x in (A, s, t)]
    information = fisher_information(inside[0], inside[1], inside[2], K, (sum(hits), sum(misses)))
    spectrum = np.linalg.eigvalsh(information / n)
    if spectrum[0] < 1e-6:
        raise NotIdentified(
            f"answers do not depend on the truth (sensitivity {s:.3g}, specificity {t:.3g}): "
            "no number of them tells the accuracy"
        )
    se = float(np.sqrt(np.linalg.inv(information)[0, 0]))
    centre, half = np.log(inside[0] / (1 - inside[0])), z_value(level) * se / (inside[0] * (1 - inside[0]))
    low, high = (float(1 / (1 + np.exp(-end))) for end in (centre - half, centre + half))
    notes = (
        Note(NoteKind.SENSITIVITY, {"rate": s}),
        Note(NoteKind.SPECIFICITY, {"rate": t}),
        Note(NoteKind.SPLIT, {"answers": hits[1] + misses[1]}),
    )
    return Estimate.from_interval(
        value=A,
        se=se,
        interval=Interval(low=low, high=high, level=level, method="wald-logit", notes=notes),
        estimator="hui-walter",
        n=Counts(ordinary=hits[0] + misses[0], complementary=hits[2] + misses[2]),
        assumptions=HUI_WALTER_ASSUMPTIONS,
    )
