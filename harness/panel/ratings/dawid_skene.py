"""Dawid and Skene's latent class model: items' classes from annotators of unknown error rates, by Crowd-Kit.

P(annotator a says l | class j) = π^a_jl, P(class j) = p_j, labels independent given the class; EM from
the vote shares. Source: Dawid & Skene 1979, Applied Statistics 28, equations 2.3–2.5 and 3.1.
"""

from __future__ import annotations

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.distribution import install_line
from oversight.harness.errors import ConfigError, EstimateError

_TOLERANCE = 1e-6
"""Of the evidence's lower bound, in nats of all items together."""
_STEPS = 1000


def fit_dawid_skene(item: IntArray, annotator: IntArray, label: IntArray, K: int) -> FloatArray:
    """P(class of the item | all labels).

    Parameters
    ----------
    item, annotator, label
        Shape (R,): one row a rating. Every item 0..N−1 has one at least; an annotator may rate an
        item several times or never.
    K
        Number of classes; labels lie in 0..K−1.

    Returns
    -------
    array
        Shape (N, K), rows sum to 1; 0 for classes that nobody named.

    Raises
    ------
    ConfigError
        If Crowd-Kit is not installed.
    EstimateError
        If EM has not settled after a thousand steps.
    """
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        raise ConfigError(f"the aggregate dawid-skene needs: {install_line('crowd')}") from None
    model = DawidSkene(n_iter=_STEPS, tol=_TOLERANCE)
    shares = model.fit_predict_proba(pd.DataFrame({"task": item, "worker": annotator, "label": label}))
    if len(model.loss_history_) >= _STEPS:
        raise EstimateError(f"dawid-skene has not settled after {_STEPS} steps; take another aggregate")
    posterior: FloatArray = shares.reindex(columns=range(K), fill_value=0.0).sort_index().to_numpy()
    return posterior
