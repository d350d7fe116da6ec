"""Measure how many questions are saved by a draw of items that is stratified by the models' agreement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import oversight as ov
from benchmarks._real_predictions import ROSTER, Pool, collect, predictions
from oversight.harness import IntArray
from oversight.harness.estimate import (
    draw_in_proportion,
    expected_questions,
    guess_right,
    split_by_agreement,
    vote_posterior,
)
from oversight.protocols.routing import Sequential, Targeted

QUESTIONS = 300
_FURTHER = 8
"""Number of draws for the variance, as a multiple of the draws with simulated labels. The additional draws
need no labels, because an estimate equals the share of right answers."""
SETS = 10
"""Number of random sets of five target models."""


class AgreementDraws:
    """Draws items of a pool, stratified by the agreement of models."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.names = pool, list(pool.models)
        self.predicted = np.stack(list(pool.models.values()), axis=1)
        self.correct = (self.predicted == pool.truth[:, None]).astype(np.float64)
        self.right = guess_right(self.predicted, pool.n_options)

    def see(self, targets: Sequence[str], draws: int, rng: np.random.Generator) -> tuple[float, list[float]]:
        """Return the ratio of two variances, and the coverage of each target's interval.

        The ratio is the variance with a simple random sample, which is known exactly, divided by that with a
        stratified sample of the same size.
        """
        columns = [self.names.index(name) for name in targets]
        number = QUESTIONS if len(targets) == 1 else self._count(columns)
        stratum = split_by_agreement(self.right[:, columns], number)
        within = split_by_agreement(self.right[:, columns], number, each=1)
        exact = np.array([self.pool.exact[name] for name in targets])
        total = _FURTHER * draws
        errors, held = np.zeros((total, len(targets))), np.zeros((draws, len(targets)))
        for draw in range(total):
            places = draw_in_proportion(stratum, number, rng, within=within)
            errors[draw] = self.correct[places][:, columns].mean(axis=0) - exact
            if draw >= draws:
                continue
            found = self._estimate(targets, places, stratum, draw)
            if not np.allclose([e.value for e in found] - exact, errors[draw]):
                raise AssertionError("an estimate is the share of drawn items that are right")
            ends = np.array([(e.low - 1e-9, e.high + 1e-9) for e in found])
            held[draw] = (ends[:, 0] <= exact) & (exact <= ends[:, 1])
        size = len(self.pool.items)
        at_random = exact * (1 - exact) / number * (size - number) / (size - 1)
        # The expected inverse of a mean of n squared normal errors is too large by the factor n/(n − 2).
        ratio = at_random / np.square(errors).mean(axis=0) * (total - 2) / total
        return float(ratio.mean()), held.mean(axis=0).tolist()

    def _count(self, columns: list[int]) -> int:
        """Return the number of items for which `QUESTIONS` questions suffice on average."""
        predicted, accuracy = self.predicted[:, columns], self.right.mean(axis=0)[columns]
        width = int(self.pool.n_options.max())
        posterior = vote_posterior(predicted, self.pool.n_options, width, accuracy=accuracy)
        return int(QUESTIONS / expected_questions(predicted, posterior, self.pool.n_options).mean())

    def _estimate(
        self, targets: Sequence[str], places: IntArray, stratum: IntArray, seed: int
    ) -> list[ov.Estimate]:
        chosen = [self.pool.items[j] for j in places.tolist()]
        looked_at = {name: {item.id: self.pool.options[name][item.id] for item in chosen} for name in targets}
        rule = Targeted if len(targets) == 1 else Sequential
        labels = collect(rule(ROSTER, looked_at, seed), chosen, self.pool.key)
        strata = {item.id: str(s) for item, s in zip(chosen, stratum[places].tolist(), strict=True)}
        labels = labels.drawn_from(strata, pool_size=len(self.pool.items))
        return [ov.accuracy(predictions(chosen, self.pool.options[name]), labels) for name in targets]


def see_pools(pool: Pool, draws: int) -> tuple[str, dict[str, float]]:
    """Measure draws for each single target model, and for sets of five. Returns a text, and the results."""
    drawing, rng = AgreementDraws(pool), np.random.default_rng(18)
    one = [drawing.see([name], draws, rng) for name in drawing.names]
    sets = [rng.choice(drawing.names, 5, replace=False).tolist() for _ in range(SETS)]
    five = [drawing.see(targets, draws, rng) for targets in sets]
    rows = [
        f"{QUESTIONS} questions on {len(pool.items)} items drawn by agreement, over items drawn at random"
    ]
    for name, found in (("one target, targeted", one), ("five targets, sequential", five)):
        ratios, held = [ratio for ratio, _ in found], [share for _, each in found for share in each]
        rows.append(
            f"{name:<25} {np.mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), "
            f"holds {np.mean(held):.1%}, of a target at least {min(held):.1%}"
        )
    return "\n".join(rows), {
        "pool_one": round(float(np.mean([ratio for ratio, _ in one])), 2),
        "pool_five": round(float(np.mean([ratio for ratio, _ in five])), 2),
        "pool_coverage": round(float(np.mean([share for _, each in one + five for share in each])), 4),
        "pool_coverage_min": round(min(share for _, each in one + five for share in each), 4),
    }
