"""Every estimator on the same tallies."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from harness.errors import EstimateError
from harness.estimate.core import check_level
from harness.estimate.estimators import POINTS
from harness.estimate.intervals import check_method
from harness.estimate.strata.stratified import Tallies, estimate_tallies
from harness.types import Estimate


class Estimates(dict[str, Estimate]):
    """Estimates by estimator name; `undefined` says why an estimator is not among them."""

    def __init__(self, estimates: Mapping[str, Estimate], undefined: Mapping[str, str]) -> None:
        super().__init__(estimates)
        self.undefined: Mapping[str, str] = MappingProxyType(dict(undefined))


def all_estimators(
    tallies: Tallies,
    *,
    interval: str | None = None,
    level: float = 0.95,
    published: bool = False,
) -> Estimates:
    """Every estimator of one tally; parameters as in `estimate_tallies`.

    Raises
    ------
    EstimateError
        If none is defined.
    """
    found: dict[str, Estimate] = {}
    undefined: dict[str, str] = {}
    check_level(level)
    if interval is not None:
        check_method(interval)
    for name in POINTS:
        try:
            found[name] = estimate_tallies(
                tallies,
                estimator=name,
                interval=interval,
                level=level,
                published=published,
            )
        except EstimateError as error:
            undefined[name] = str(error)
    if not found:
        raise EstimateError(f"no estimator is defined: {undefined['ml']}")
    return Estimates(found, undefined)
