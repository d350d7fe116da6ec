"""Every estimator on the same tallies, or on four counts: for papers and meta-analyses without the data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import BinomialSample, check_counts, check_level
from oversight.harness.estimate.data.stratified import Tallies, Tally, estimate_tallies
from oversight.harness.estimate.estimators import POINTS
from oversight.harness.estimate.intervals import check_method
from oversight.harness.types import Estimate, HtmlTable, Shown, estimate_table


class Estimates(dict[str, Estimate], Shown):
    """Estimates by estimator name; `undefined` says why an estimator is not among them."""

    def __init__(self, estimates: Mapping[str, Estimate], undefined: Mapping[str, str]) -> None:
        super().__init__(estimates)
        self.undefined: Mapping[str, str] = MappingProxyType(dict(undefined))

    def records(self) -> list[dict[str, Any]]:
        """A row an estimate; one that is undefined has no value, and its reason as `why`."""
        made = [e.records()[0] | {"estimator": name} for name, e in self.items()]
        return [*made, *({"estimator": name, "why": why} for name, why in self.undefined.items())]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        return (estimate_table(self, self.undefined),)


class ModelEstimates(dict[str, Estimates], Shown):
    """All estimates of several models, by the model's name."""

    def records(self) -> list[dict[str, Any]]:
        """A row an estimate."""
        return [{"model": name} | row for name, made in self.items() for row in made.records()]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows: a table a model."""
        return tuple(estimate_table(made, made.undefined, name) for name, made in self.items())


def all_estimators(
    tallies: Tallies, *, interval: str | None = None, level: float = 0.95, published: bool = False
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
                tallies, estimator=name, interval=interval, level=level, published=published
            )
        except EstimateError as error:
            undefined[name] = str(error)
    if not found:
        raise EstimateError(f"no estimator is defined: {undefined['ml']}")
    return Estimates(found, undefined)


def estimate_counts(
    K: int,
    S_o: int,
    n_o: int,
    S_c: int,
    n_c: int,
    *,
    level: float = 0.95,
    interval: str | None = None,
    published: bool = False,
) -> Estimates:
    """Estimate accuracy from the sufficient counts of one ordinary and one complementary set.

    Parameters
    ----------
    K
        Options, ≥ 2.
    S_o, n_o
        Right predictions among n_o ordinary labels.
    S_c, n_c
        Predictions that are not the refused option, among n_c complementary labels ("weakly
        correct"; the violations are n_c − S_c). The two sets must be of different items.
    level
        Confidence level, in (0, 1).
    interval
        A name of `intervals.INTERVALS`; ``exact`` if None (``wald`` with `published`).
    published
        The conventions of "Towards Scalable Oversight via Partitioned Human Supervision".

    Returns
    -------
    Estimates
        ``ord``, ``comp``, ``ivw_half``, ``ivw``, ``ml``; `undefined` says why one is left out.

    Examples
    --------
    >>> found = estimate_counts(4, S_o=77, n_o=120, S_c=321, n_c=360)
    >>> str(found["ml"])
    '0.656 [0.587, 0.717] ML, exact 95% · 120 ordinary + 360 complementary'

    Raises
    ------
    EstimateError
        If the counts are impossible or all zero, or K < 2.
    """
    check_counts(K, S_o, n_o, S_c, n_c)
    one = Tally(
        K=K,
        hits=BinomialSample(2, n_o, S_o),
        misses=(BinomialSample(K, n_c, S_c),) if n_c else (),
        n_yes=n_o,
        n_no=n_c,
    )
    return all_estimators(Tallies(strata=(one,)), interval=interval, level=level, published=published)
