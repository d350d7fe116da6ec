"""Items drawn of a pool, and those that were not, as the rows that `tilted_score` works on.

An item of a pool that was drawn with probability ρ, and asked about option k with π_k if so, has the
inclusion probability ρ π_k; one that was not drawn has the outcome g = E_q c, which needs no answer. Where
the chances of items that were not drawn are not known, the sum of Var(g) over the pool is estimated from
those drawn, each standing for 1/ρ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.intervals import TiltedRows, join_rows, tilt_items
from oversight.harness.estimate.routed import RoutedSample, accuracy_target


def arrange(predicted: IntArray, data: RoutedSample, cluster: IntArray | None) -> dict[str, Any]:
    """Arguments of `tilt_items` for the items with a readable prediction; −1 in ``asked`` for no question."""
    n, readable = len(predicted), np.flatnonzero(predicted >= 0)
    asked, yes = np.full(n, -1), np.zeros(n)
    asked[data.item], yes[data.item] = data.asked, data.answer
    return {
        "c": accuracy_target(predicted, data.propensities.shape[1])[readable],
        "propensities": data.propensities[readable],
        "n_options": data.n_options[readable],
        "asked": asked[readable],
        "yes": yes[readable],
        "cluster": None if cluster is None else cluster[readable],
    }


def tilt_pool(parts: dict[str, Any], working: FloatArray | None) -> TiltedRows:
    """Rows of N items of equal weight.

    Parameters
    ----------
    parts
        Arguments of `tilt_items`: an item that was not drawn has the option −1 in ``asked``, and where its
        chances are not known propensities of 0.
    working
        Shape (N, K), see `tilt_items`.
    """
    told = parts["propensities"].sum(axis=1) > 0
    if told.all():
        return tilt_items(**parts, working=working)
    if working is None:
        raise ValueError("items of unknown chances need a working distribution")
    rho = parts["propensities"].sum(axis=1)[told]
    rows = tilt_items(**_take(parts, told), working=working[told])
    drawn = {name: getattr(rows, name) / rho for name in ("inverse_up", "inverse_down", "linear", "square")}
    rows = replace(rows, **drawn)
    c, q = parts["c"][~told], working[~told]
    none = np.zeros(len(c))
    own = np.arange(c.shape[1]) < parts["n_options"][~told][:, None]
    silent = TiltedRows(
        up=(q * (c > 0)).sum(axis=1),
        down=(q * (c < 0)).sum(axis=1),
        rest=(q * (own & (c == 0))).sum(axis=1),
        inverse_up=none,
        inverse_down=none,
        linear=none,
        square=none,
        constant=none,
        asked_c=none,
        asked_q=none,
        asked_inverse=none,
        yes=none,
        weight=none,
        count=none + 1,
        cluster=rows.cluster,
        stratum=np.zeros(len(c), np.int64),
        excess=none + 1,
    )
    joined = join_rows([rows, silent])
    order = np.argsort(np.concatenate([np.flatnonzero(told), np.flatnonzero(~told)]))
    fields = {
        name: getattr(joined, name)[order] for name in joined.__slots__ if name not in ("cluster", "stratum")
    }
    return replace(joined, **(fields | {"weight": np.full(len(told), 1 / len(told))}))


def _take(parts: dict[str, Any], rows: FloatArray) -> dict[str, Any]:
    return {name: None if x is None else x[rows] for name, x in parts.items()}
