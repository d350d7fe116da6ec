"""Costs of stored runs in dollars, in total and per right answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oversight.harness.config import LOCAL_ENDPOINT, Study
from oversight.harness.llm import FREE, PriceTable, dollars, read_prices
from oversight.harness.store import Store
from oversight.harness.types import Estimate, Usage


def study_prices(study: Study) -> PriceTable:
    """Read the price table of a study; empty for a study without prices.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> study_prices(read_study("study.toml")).models["careful"].output
    2.0
    """
    return read_prices(study.path("prices.toml"), required=False)


def run_cost(store: Store, prices: PriceTable, run: Mapping[str, Any], used: Sequence[Usage]) -> float | None:
    """Return the cost of a run in dollars; None if its model's price is unknown.

    `prices` are used only for a run that an older version stored without a price.
    """
    endpoint = str(run["spec"]["endpoint"])
    free = endpoint == LOCAL_ENDPOINT or endpoint.startswith(("python ", "command "))
    price = FREE if free else prices.models.get(run["spec"]["model"])
    return dollars(price, used, store.runs.read_prices(run["id"]))


def cost_per_correct(
    usd: float | None, answered: int, accuracy: Estimate | None
) -> tuple[float, float, float | None] | None:
    """Return a model's dollars per right answer, and the two ends of the confidence interval of this cost.

    The model cost `usd` dollars for `answered` answers. The upper end is None (no limit) if the interval of
    the accuracy contains zero. The result is None if nothing was paid, or the accuracy is unknown or zero.
    """
    if not usd or accuracy is None or not answered or accuracy.clipped == 0:
        return None
    each = usd / answered
    return each / accuracy.clipped, each / accuracy.high, each / accuracy.low if accuracy.low > 0 else None
