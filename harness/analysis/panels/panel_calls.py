"""Panels from Python: agreement, certificate and parity of ratings in a file, a frame or a list."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from oversight.harness.analysis.panels.panel_study import PanelStudy, class_values
from oversight.harness.arrays import IntArray
from oversight.harness.datasets import Source, is_frame
from oversight.harness.errors import WrongType
from oversight.harness.expected import check_mapping, check_names, check_records
from oversight.harness.panel import (
    EDGES,
    AgreementReport,
    Panel,
    Parity,
    Superhuman,
    assess_superhuman,
    make_panel,
    measure_agreement,
    measure_parity,
)
from oversight.harness.types import Rating

AnyRatings: TypeAlias = "Source | Iterable[Rating] | Panel"
"""Ratings: a file or frame with one row a rating, a list, or a panel."""
AnyChoices: TypeAlias = "Source | Mapping[str, str | None]"
"""One label an item: a file or frame, or a dictionary of item to label; None where it was unreadable."""


def agree(
    ratings: AnyRatings,
    *,
    measurement: str = "nominal",
    bootstrap: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    **columns: Any,
) -> AgreementReport:
    """Measure how well annotators agree: Krippendorff's α with its interval, κ's, AC1, classes, people.

    Parameters
    ----------
    ratings
        With the columns ``item``, ``annotator`` and ``label``.
    measurement
        ``"nominal"``; ``"ordinal"`` (by the order of `classes`, without them of labels that are numbers);
        ``"interval"`` or ``"ratio"`` (of labels that are numbers).
    bootstrap, seed, level
        Draws of weights of items or clusters, the seed of the draw, and the confidence level of the interval.
    **columns
        ``item``, ``annotator``, ``label``: what these columns are called; ``classes``: all classes in their
        order; ``clusters``: cluster of every item by name.

    Raises
    ------
    DataError
        Naming file and line, or row and column of the frame.
    BadInput
        If a label is a word at a measurement that needs numbers or an order.
    EstimateError
        If there is one annotator, or no item with two ratings.
    """
    panel = _read_ratings(ratings, columns)[1]
    values = class_values(panel, measurement, f"measurement {measurement!r}")
    return measure_agreement(
        panel, measurement, values=values, bootstrap=bootstrap, seed=seed, confidence=level
    )


def certify(
    ratings: AnyRatings,
    predicted: AnyChoices,
    *,
    oracle: AnyChoices | None = None,
    aggregate: str = "plurality",
    weights: Mapping[str, float] | None = None,
    pool: bool | None = None,
    test: str = "split",
    seed: int = 0,
    level: float = 0.95,
    **columns: Any,
) -> Superhuman:
    """Decide whether a model beats the average annotator, at any number of items, without a truth.

    Parameters
    ----------
    ratings, columns
        As in `agree`.
    predicted
        The model's label of every item, with the columns ``item`` and ``label``.
    oracle
        True labels of some items, which check the assumptions.
    aggregate, weights, pool, test, seed, level
        As in `oversight.harness.panel.assess_superhuman`.

    Raises
    ------
    DataError
        Naming file and line, or row and column of the frame.
    EstimateError
        If an item has no prediction, or an argument is out of range.
    """
    if weights is not None:
        check_mapping("weights", weights, "annotator to weight")
    study, panel = _read_ratings(ratings, columns)
    return assess_superhuman(
        panel,
        _read_labels(study, panel, predicted, "predicted"),
        aggregate=aggregate,
        weights=weights,
        oracle=None if oracle is None else _read_labels(study, panel, oracle, "oracle", partial=True),
        pool=pool,
        test=test,
        seed=seed,
        level=level,
    )


def parity(
    ratings: AnyRatings,
    predicted: AnyChoices,
    *,
    humans: Sequence[str] | None = None,
    voters: Sequence[str] | None = None,
    circular: bool = False,
    edges: tuple[float, ...] = EDGES,
    positive: str | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    **columns: Any,
) -> Parity:
    """Compare people and a model where the vote is certain and where it is not.

    Parameters
    ----------
    ratings, columns
        As in `agree`.
    predicted
        As in `certify`.
    humans, voters, circular, edges, positive, bootstrap, seed, level
        As in `oversight.harness.panel.measure_parity`.

    Raises
    ------
    DataError
        Naming file and line, or row and column of the frame.
    EstimateError
        If an item has no prediction, a name is unknown, or no item has two voters.
    """
    for name, given in (("humans", humans), ("voters", voters)):
        if given is not None:
            check_names(name, given)
    study, panel = _read_ratings(ratings, columns)
    return measure_parity(
        panel,
        _read_labels(study, panel, predicted, "predicted"),
        humans=humans,
        voters=voters,
        circular=circular,
        edges=edges,
        positive=positive,
        level=level,
        bootstrap=bootstrap,
        seed=seed,
    )


def _read_ratings(ratings: AnyRatings, columns: Mapping[str, Any]) -> tuple[PanelStudy, Panel]:
    """How columns are called, and the panel."""
    if is_frame(ratings) or isinstance(ratings, str | os.PathLike):
        study = PanelStudy(ratings=ratings, **columns)
        return study, study.read_panel()
    study = PanelStudy(ratings="the ratings", **columns)
    if isinstance(ratings, Panel):
        return study, ratings if study.classes is None else ratings.in_order(study.classes)
    if not isinstance(ratings, Iterable):
        raise WrongType("ratings", "a path, a frame, a list of oversight.harness.Rating or a Panel", ratings)
    rows = list(ratings)
    check_records("ratings", rows, Rating)
    return study, make_panel(rows, study.classes).clustered(study.clusters)


def _read_labels(
    study: PanelStudy, panel: Panel, given: AnyChoices, name: str, *, partial: bool = False
) -> IntArray:
    """Class of every item of the panel, −1 where there is none."""
    if not isinstance(given, Mapping):
        return study.read_labels(panel, given, name, partial=partial)
    return panel.codes(name, {item: given.get(item) for item in panel.items} if partial else dict(given))
