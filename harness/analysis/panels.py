"""Analyse panels of several annotators, from files, from Python values, or from a study's database."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from oversight.harness.argument_checks import check_mapping, check_names, check_records
from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.datasets import Source, is_frame, name_source, read_choices, read_ratings
from oversight.harness.errors import BadInput, EstimateError, WrongType
from oversight.harness.output import counted, say
from oversight.harness.panel import (
    EDGES,
    AgreementReport,
    HumanLevel,
    Panel,
    Parity,
    Superhuman,
    assess_superhuman,
    find_class_values,
    human_level_choices,
    make_panel,
    measure_agreement,
    measure_parity,
    parse_number,
)
from oversight.harness.types import PredictionStatus, Rating

if TYPE_CHECKING:
    from oversight.harness.store import Store

AnyRatings: TypeAlias = "Source | Iterable[Rating] | Panel"
"""Ratings: a file or frame with one row per rating or per item, a list of ratings, or a panel."""
AnyChoices: TypeAlias = "Source | Mapping[str, str | None]"
"""One label per item: a file, a frame, or a dictionary item → label, where None is an unreadable label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelStudy:
    """Source of a panel's ratings, and the column names of its files.

    Attributes
    ----------
    ratings
        File or frame of ratings; None to read the study's database.
    database
        URL of the study's database; used only without `ratings`.
    item, annotator, label
        Column names in every file. Ratings can have one column per annotator instead of the columns
        `annotator` and `label`.
    classes
        All classes in order. None means the classes that occur in the files or, without files, the options
        of the study's items.
    clusters
        Item → cluster; empty if items are independent.
    reference
        File of labels by experts outside the panel, if the study names one.

    Examples
    --------
    >>> from oversight.harness.example_data import example_ratings
    >>> ratings = example_ratings()
    >>> PanelStudy(ratings=ratings).read_panel().annotators
    ('p0', 'p1', 'p2')
    """

    ratings: Source | None = None
    database: str = ""
    item: str = "item"
    annotator: str = "annotator"
    label: str = "label"
    classes: Sequence[str] | None = None
    clusters: Mapping[str, str] = field(default_factory=dict)
    reference: Path | None = None

    def __post_init__(self) -> None:
        if self.classes is not None:
            check_names("classes", self.classes)

    def read_panel(self) -> Panel:
        """Read the ratings.

        Raises
        ------
        DataError
            If a file is invalid; the message names line and field.
        BadInput
            If the study has no ratings.
        EstimateError
            If an item has no cluster, or all items share one cluster.
        """
        if self.ratings is not None:
            found = read_ratings(
                self.ratings, item=self.item, annotator=self.annotator, label=self.label, classes=self.classes
            )
            return make_panel(found, self.classes).clustered(self.clusters)
        # Import this here, because the import is slow and not needed for files.
        from oversight.harness.store import Store

        with Store(self.database) as store:
            return read_study_panel(store, self.classes, self.clusters)

    def read_model(self, panel: Panel, model: str) -> IntArray:
        """Return the class that a model predicts for every item of the panel, −1 if unreadable.

        Parameters
        ----------
        model
            A file with a label per item, or the name of a model that the study ran.

        Raises
        ------
        DataError
            If the file is invalid; the message names file, line and field.
        BadInput
            If neither such a file nor such a run exists.
        EstimateError
            If an item has no prediction; the message names it.
        """
        if self.ratings is not None or Path(model).exists():
            found = self.read_labels(panel, model, "predictions")
        else:
            # Import this here, because the import is slow and not needed for files.
            from oversight.harness.store import Store

            with Store(self.database) as store:
                found = read_study_model(store, panel, model)
        empty = int((found < 0).sum())
        if empty:
            of = counted(len(found), "prediction")
            say(f"{model}: {empty} of {of} empty or unreadable: they count as wrong")
        return found

    def read_labels(self, panel: Panel, path: Source, name: str, *, partial: bool = False) -> IntArray:
        """Return the class that a file or frame gives for every item of the panel, −1 if empty.

        Parameters
        ----------
        name
            Name of the labels in messages: ``"predictions"``, ``"oracle"``.
        partial
            Whether the file can lack items of the panel (their class is −1) and contain unknown items.

        Raises
        ------
        DataError
            If the file is invalid; the message names file, line and field.
        BadInput
            If the panel lacks all items of the file, or lacks an item and `partial` is False; the message
            names the item.
        EstimateError
            If the file lacks an item of the panel, and `partial` is False; the message names the item.
        """
        found = read_choices(path, item=self.item, label=self.label, classes=panel.classes)
        rated = set(panel.items)
        left = [item for item in found if item not in rated]
        rated_in = "the study" if self.ratings is None else name_source(self.ratings)
        if left and not partial:
            raise BadInput(f"{name_source(path)}: the item {left[0]!r} has no rating in {rated_in}")
        if left and len(left) == len(found):
            raise BadInput(f"{name_source(path)}: none of its items has a rating in {rated_in}")
        if left:
            of = counted(len(found), "item")
            say(f"{name_source(path)}: {len(left)} of {of} left out, because nobody rated them")
        if partial:
            found = {item: found.get(item) for item in panel.items}
        return panel.codes(f"{name} in {name_source(path)}", found)


def read_study_panel(store: Store, classes: Sequence[str] | None, clusters: Mapping[str, str]) -> Panel:
    """Read the stored ratings of a study; `classes` and `clusters` are as in `PanelStudy`.

    Raises
    ------
    BadInput
        If there are no ratings.
    EstimateError
        If an item has no cluster, or all items share one cluster.
    """
    ratings, items = store.panel.read_ratings(), store.content.read_items()
    if not ratings:
        raise BadInput("the study has no ratings; give a file, or collect them: oversight label --help")
    panel = make_panel(ratings, classes or list(dict.fromkeys(o for i in items for o in i.options)))
    if not classes:  # numbers have an order; options have an order only if all items have the same options
        are_words = any(parse_number(name) is None for name in panel.classes)
        panel = replace(panel, ordered=are_words and len({i.options for i in items}) == 1)
    return panel.clustered(clusters)


def read_study_model(store: Store, panel: Panel, model: str) -> IntArray:
    """Return the class that a model's newest run predicts for every item of the panel, −1 if unreadable.

    Raises
    ------
    BadInput
        If the model has no run with answers.
    EstimateError
        If an item has no prediction; the message names it.
    """
    # imported here because it imports the store, which is slow and not needed for files
    from oversight.harness.analysis.opened_study import find_newest_runs

    (run,) = find_newest_runs(store, [model]).runs
    options = {item.id: item.options for item in store.content.read_items()}
    predicted = {
        p.item_id: None if p.option is None else options[p.item_id][p.option]
        for p in store.runs.read_predictions(run["id"])
        if p.status is not PredictionStatus.FAILED
    }
    return panel.codes(f"predictions of {model}", predicted)


def compare_with_reference(
    panel: Panel, predicted: IntArray, reference: IntArray, humans: Sequence[str]
) -> HumanLevel:
    """Compare a model with annotators by their agreement with reference labels (human-level indices).

    Parameters
    ----------
    predicted, reference
        Shape (N,): class of every item, negative if unreadable or unknown.
    humans
        Annotators among whom the model is ranked. They must not have contributed to the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> truth = np.array([0, 1, 0, 0, 0, 1])
    >>> compare_with_reference(panel, np.array([0, 1, 0, 1, 0, 1]), truth, ["p0", "p1"]).ranking[0]
    ('p1', 'person', 1.0)
    """
    grid = panel.grid()
    people = {n: grid[:, j] for n, j in zip(humans, panel.positions(humans), strict=True)}
    return human_level_choices(people, reference, {"model": predicted}, cluster=panel.cluster)


def class_values(panel: Panel, measurement: str, option: str) -> FloatArray | None:
    """Convert class names to numbers with `find_class_values`; error messages begin with `option`.

    Raises
    ------
    BadInput
        If a class is a word, but the measurement needs numbers or an order.

    Examples
    --------
    >>> from oversight.harness.panel import make_panel
    >>> from oversight.harness.types import Rating
    >>> panel = make_panel([Rating("a", "ann", "1"), Rating("a", "bob", "3")])
    >>> class_values(panel, "interval", "--level").tolist()
    [1.0, 3.0]
    """
    try:
        return find_class_values(panel, measurement)
    except EstimateError as error:
        raise BadInput(f"{option}: {error}") from None


def agree(
    ratings: AnyRatings,
    *,
    measurement: str = "nominal",
    bootstrap: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    **columns: Any,
) -> AgreementReport:
    """Measure the agreement of annotators: in total, by class and by annotator.

    The report has Krippendorff's α with its interval, κ and AC1.

    Parameters
    ----------
    ratings
        Ratings with the columns ``item, annotator, label``, or ``item`` and one column per annotator.
    measurement
        ``"nominal"``; ``"ordinal"`` (in the order of `classes`; without `classes`, labels must be numbers);
        ``"interval"`` or ``"ratio"`` (labels must be numbers).
    bootstrap, seed, level
        Number of bootstrap draws, which weight items or clusters at random; seed of the draws; confidence
        level of the interval.
    **columns
        ``item``, ``annotator``, ``label``: names of these columns; ``classes``: all classes in order;
        ``clusters``: item → cluster.

    Raises
    ------
    DataError
        If the ratings are invalid; the message names file and line, or row and column of the frame.
    BadInput
        If a label is a word, but the measurement needs numbers or an order.
    EstimateError
        If there is only one annotator, or no item with two ratings.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_ratings
    >>> ratings = example_ratings()
    >>> found = ov.agree(ratings).alpha
    >>> print(f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]")
    0.58 [-0.03, 0.94]
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
    """Decide, without ground truth, whether a model is better than the average annotator.

    Parameters
    ----------
    ratings, columns
        As in `agree`.
    predicted
        The model's label of every item: a dictionary, or a table with the columns ``item`` and ``label``.
    oracle
        True labels of some items, to test the assumptions; in one of the forms of `predicted`.
    aggregate, weights, pool, test, seed, level
        As in `oversight.harness.panel.assess_superhuman`.

    Raises
    ------
    DataError
        If an input is invalid; the message names file and line, or row and column of the frame.
    EstimateError
        If an item has no prediction, or an argument is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_ratings
    >>> ratings = example_ratings()
    >>> model = pd.DataFrame({"item": list("abcdef"), "label": list("xyxyxy")})
    >>> print(ov.certify(ratings, model).verdict)
    not certified; 53 items with this margin would suffice, if the model does not share the annotators' errors
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
    """Compare annotators with a model, on items grouped by the certainty of the annotators' vote.

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
        If an input is invalid; the message names file and line, or row and column of the frame.
    EstimateError
        If an item has no prediction, a name is unknown, or no item has two voters.

    Examples
    --------
    >>> import pandas as pd
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_ratings
    >>> ratings = example_ratings()
    >>> model = pd.DataFrame({"item": list("abcdef"), "label": list("xyxyxy")})
    >>> print(ov.parity(ratings, model, bootstrap=100).method)
    leave-one-out
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
    """Return the column names and source of the ratings, and the panel."""
    if is_frame(ratings) or isinstance(ratings, str | os.PathLike):
        study = PanelStudy(ratings=ratings, **columns)
        return study, study.read_panel()
    study = PanelStudy(ratings="the ratings", **columns)
    if isinstance(ratings, Panel):
        return study, ratings if study.classes is None else ratings.in_order(study.classes)
    if not isinstance(ratings, Iterable):
        raise WrongType("ratings", "a path, a frame, a list of oversight.Rating or a Panel", ratings)
    rows = list(ratings)
    check_records("ratings", rows, Rating)
    return study, make_panel(rows, study.classes).clustered(study.clusters)


def _read_labels(
    study: PanelStudy, panel: Panel, given: AnyChoices, name: str, *, partial: bool = False
) -> IntArray:
    """Return the class of every item of the panel, −1 for an item without a class."""
    if not isinstance(given, Mapping):
        return study.read_labels(panel, given, name, partial=partial)
    return panel.codes(name, {item: given.get(item) for item in panel.items} if partial else dict(given))
