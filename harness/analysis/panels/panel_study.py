"""A panel and the labels beside it, a model's or an oracle's: from files or a study's database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.datasets import Source, name_source, read_choices, read_ratings
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.expected import check_names
from oversight.harness.panel import Panel, find_class_values, make_panel, parse_number
from oversight.harness.types import PredictionStatus

if TYPE_CHECKING:
    from oversight.harness.panel import HumanLevel
    from oversight.harness.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelStudy:
    """Where a panel's ratings are, and what the columns of files beside them are called.

    Attributes
    ----------
    ratings
        File or frame of ratings; None takes those of the study.
    database
        URL of the study's database, where there is no file of ratings.
    item, annotator, label
        Columns of every file.
    classes
        All classes in their order; None takes those seen, of a study the options of its items.
    clusters
        Cluster of every item by name; empty if items are independent.
    reference
        File of labels by experts who are none of the panel, if the study names one.
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
            If a file is wrong, named by line and field.
        BadInput
            If the study has no ratings.
        EstimateError
            If an item has no cluster, or all share one.
        """
        if self.ratings is not None:
            found = read_ratings(
                self.ratings, item=self.item, annotator=self.annotator, label=self.label, classes=self.classes
            )
            return make_panel(found, self.classes).clustered(self.clusters)
        from oversight.harness.store import Store  # a third of a second, which files need not pay

        with Store(self.database) as store:
            return read_study_panel(store, self.classes, self.clusters)

    def read_model(self, panel: Panel, model: str) -> IntArray:
        """Class that a model gives every item of the panel, −1 where unreadable.

        Parameters
        ----------
        model
            A file with a label per item, or the name of a model that the study ran.

        Raises
        ------
        DataError
            Naming file, line and field.
        BadInput
            If there is neither such a file nor such a run.
        EstimateError
            Naming the item that has no prediction.
        """
        if self.ratings is not None or Path(model).exists():
            return self.read_labels(panel, model, "predictions")
        from oversight.harness.store import Store  # a third of a second, which files need not pay

        with Store(self.database) as store:
            return read_study_model(store, panel, model)

    def read_labels(self, panel: Panel, path: Source, name: str, *, partial: bool = False) -> IntArray:
        """Class that a file or frame gives every item of the panel, −1 where it is empty.

        Parameters
        ----------
        name
            What the labels are, for messages: ``"predictions"``, ``"oracle"``.
        partial
            Whether the file may leave items out (an oracle on some), −1 for them, and name others.

        Raises
        ------
        DataError
            Naming file, line and field.
        BadInput
            Naming the item that nobody rated.
        EstimateError
            Naming the item that is left out.
        """
        found = read_choices(path, item=self.item, label=self.label, classes=panel.classes)
        if partial:
            found = {item: found.get(item) for item in panel.items}
        rated = set(panel.items)
        for item in found:
            if item not in rated:
                rated_in = "the study" if self.ratings is None else name_source(self.ratings)
                raise BadInput(f"{name_source(path)}: the item {item!r} has no rating in {rated_in}")
        return panel.codes(f"{name} in {name_source(path)}", found)


def read_study_panel(store: Store, classes: Sequence[str] | None, clusters: Mapping[str, str]) -> Panel:
    """The ratings that a study has stored; arguments as the attributes of `PanelStudy`.

    Raises
    ------
    BadInput
        If there are none.
    EstimateError
        If an item has no cluster, or all share one.
    """
    ratings, items = store.panel.read_ratings(), store.content.read_items()
    if not ratings:
        raise BadInput("the study has no ratings; give a file, or collect them: oversight label --help")
    panel = make_panel(ratings, classes or list(dict.fromkeys(o for i in items for o in i.options)))
    if not classes:  # numbers have an order of their own, and options that differ by item have none
        are_words = any(parse_number(name) is None for name in panel.classes)
        panel = replace(panel, ordered=are_words and len({i.options for i in items}) == 1)
    return panel.clustered(clusters)


def read_study_model(store: Store, panel: Panel, model: str) -> IntArray:
    """Class that the newest run of a model gives every item of the panel, −1 where unreadable.

    Raises
    ------
    BadInput
        If there is no such run.
    EstimateError
        Naming the item that has no prediction.
    """
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
    """Human-level indices of one model among some annotators, all held against a reference.

    Parameters
    ----------
    predicted, reference
        Shape (N,): class of every item, negative where unreadable or unknown.
    humans
        Annotators the model is ranked among; none of them made the reference.
    """
    grid = panel.grid()
    people = {n: grid[:, j] for n, j in zip(humans, panel.positions(humans), strict=True)}
    from oversight.harness.panel import human_level_choices

    return human_level_choices(people, reference, {"model": predicted}, cluster=panel.cluster)


def class_values(panel: Panel, measurement: str, option: str) -> FloatArray | None:
    """What the classes measure (`find_class_values`); `option` is named where a class is no number.

    Raises
    ------
    BadInput
        If a class is a word at a measurement that needs numbers or an order.
    """
    try:
        return find_class_values(panel, measurement)
    except EstimateError as error:
        raise BadInput(f"{option}: {error}") from None
