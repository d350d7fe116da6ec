"""Dawid and Skene's latent class model: annotators' error rates and items' classes without a truth.

P(annotator a says l | class j) = π^a_jl, P(class j) = p_j, labels independent given the class; EM from
the vote shares. Source: Dawid & Skene 1979, Applied Statistics 28, equations 2.3–2.5 and 3.1.

Written here, as the one well-kept permissive library that has it (Crowd-Kit) brings 46 packages and half a
gigabyte along. It gives the class marginals and error rates that the source prints, and on real annotators
Crowd-Kit's posteriors to nine digits (``benchmarks/dawid_skene.py`` runs both).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import EstimateError
from harness.panel.ratings import FloatArray, Panel


@dataclass(frozen=True, slots=True)
class LatentClasses:
    """What EM ended at.

    Attributes
    ----------
    posterior
        P(class of the item | all labels), shape (N, K).
    marginals
        p_j, shape (K,).
    error_rates
        π^a_jl, shape (annotators, K, K): rows are true classes; all 0 where an annotator rated no
        item that could be of the class.
    log_likelihood
        At the end; EM never lowers it.
    iterations
        Steps taken.
    converged
        Whether the posterior moved less than the tolerance at the last step.
    """

    posterior: FloatArray
    marginals: FloatArray
    error_rates: FloatArray
    log_likelihood: float
    iterations: int
    converged: bool


def label_counts(panel: Panel) -> FloatArray:
    """n_nal: how often annotator a gave item n the label l; shape (N, annotators, K)."""
    counts = np.zeros((len(panel.items), len(panel.annotators), panel.K))
    counts[panel.item, panel.annotator, panel.label] = 1
    return counts


def dawid_skene(counts: FloatArray, *, tolerance: float = 1e-8, most: int = 2000) -> LatentClasses:
    """Fit by EM.

    Parameters
    ----------
    counts
        Shape (N, annotators, K): how often the annotator gave the item the label. An annotator may
        have rated an item several times or never.
    tolerance
        Largest change of a posterior probability at which EM stops.
    most
        Steps at most.

    Raises
    ------
    EstimateError
        If the shape is wrong, a count is negative, or an item has no label.
    """
    if counts.ndim != 3 or counts.shape[2] < 2 or counts.shape[1] < 2:
        raise EstimateError(f"counts must have shape (N, annotators >= 2, K >= 2), has {counts.shape}")
    if (counts < 0).any():
        raise EstimateError(f"counts must be at least 0, the least is {counts.min()}")
    votes = counts.sum(axis=1)
    for row in np.flatnonzero(votes.sum(axis=1) == 0)[:1]:
        raise EstimateError(f"counts[{row}] is all 0: an item without a label has no class to learn")
    posterior = votes / votes.sum(axis=1, keepdims=True)
    n, annotators, K = counts.shape
    flat = counts.reshape(n, annotators * K)
    moved, likelihood, step = np.inf, -np.inf, 0
    marginals, rates = posterior.mean(axis=0), np.zeros((annotators, K, K))
    while moved > tolerance and step < most:
        step += 1
        marginals = posterior.mean(axis=0)
        joint = (posterior.T @ flat).reshape(K, annotators, K).transpose(1, 0, 2)
        total = joint.sum(axis=2, keepdims=True)
        rates = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
        score = _log(marginals) + flat @ _log(rates).transpose(0, 2, 1).reshape(annotators * K, K)
        top = score.max(axis=1, keepdims=True)
        weight = np.exp(score - top)
        likelihood = float((np.log(weight.sum(axis=1)) + top[:, 0]).sum())
        updated = weight / weight.sum(axis=1, keepdims=True)
        moved = float(np.abs(updated - posterior).max())
        posterior = updated
    return LatentClasses(posterior, marginals, rates, likelihood, step, moved <= tolerance)


def _log(p: FloatArray) -> FloatArray:
    # A finite stand-in for log 0: 0 · log 0 must be 0 in the sum over labels nobody gave.
    logs: FloatArray = np.log(np.maximum(p, 1e-300))
    return logs
