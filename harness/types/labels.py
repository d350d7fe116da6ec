"""How a protocol's labels can be used, and labels with the design by which they were collected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, overload

from oversight.harness.argument_checks import check_mapping, check_names, check_records, is_given
from oversight.harness.errors import BadInput
from oversight.harness.types.records import Label, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolStatement:
    """States how a protocol's labels can be used; code checks these fields instead of the protocol's name.

    Attributes
    ----------
    estimator
        ``"likelihood"``: options were drawn uniformly, so hits and misses have a binomial likelihood.
        ``"weighted"``: answers are weighted by recorded propensities. ``"resolved"``: every item's
        correctness is known exactly. ``"ratings"``: a panel, see `oversight.harness.panel`.
    assumptions
        Conditions under which an estimate is valid; they are printed with the estimate.
    checks
        Names of the checks in `oversight.harness.estimate` that apply to the labels.
    needs
        What must exist, besides the items, before questions are drawn.
    answers
        What can be estimated: ``"accuracy"`` of a model, ``"difference"`` of two models. ``"later models"``
        means that models run after the questions were drawn can be estimated too.
    asks_on
        Whether answers determine which questions are asked next.

    Examples
    --------
    >>> import oversight as ov
    >>> statement = ov.load_protocol("targeted").statement
    >>> statement.estimator, sorted(statement.needs)
    ('weighted', ['predictions', 'roster'])
    """

    estimator: Literal["likelihood", "weighted", "resolved", "ratings"]
    assumptions: tuple[str, ...]
    checks: tuple[str, ...] = ()
    needs: frozenset[Literal["roster", "predictions", "annotators"]] = frozenset({"roster"})
    answers: frozenset[Literal["accuracy", "difference", "later models"]]
    asks_on: bool = False

    def __post_init__(self) -> None:
        for name in ("assumptions", "checks", "needs", "answers"):
            check_names(name, getattr(self, name))

    @property
    def is_panel(self) -> bool:
        """Whether annotators choose among all options instead of answering yes/no questions."""
        return self.estimator == "ratings"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelDesign:
    """The design by which labels were collected.

    Attributes
    ----------
    statements
        One statement per protocol that drew questions; it says how this protocol's labels can be used. Sorted
        by the protocol's name.
    asked
        Ids of the items with a question, answered or not.
    drawn
        The questions, answered or not, in the order they were drawn; empty if only answers are known.
    clusters
        Item id → cluster, for example the patient in an image; empty if items are independent.
    strata, pool_size, weights
        For items drawn from a larger pool: drawn item's id → stratum, number of items in the pool, and drawn
        item's id → weight; see `Labels.drawn_from`. Without a larger pool, `strata` and `weights` are empty,
        and `pool_size` is 0.

    Examples
    --------
    >>> import oversight as ov
    >>> question = ov.Question("00ab", "q1", 0, "ann", 4, "partitioned", 0.25, seed=7)
    >>> labels = ov.decode([ov.Answer(question, "ann", ov.Verdict.YES, "test")])
    >>> labels.design.statement.estimator, len(labels.design.drawn)
    ('likelihood', 1)
    """

    statements: tuple[ProtocolStatement, ...]
    asked: frozenset[str]
    drawn: tuple[Question, ...] = ()
    clusters: Mapping[str, str] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)
    pool_size: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_names("asked", self.asked)
        check_mapping("clusters", self.clusters, "item id to cluster")
        check_mapping("strata", self.strata, "item id to stratum")
        if (lacking := next((name for name, s in self.strata.items() if not is_given(s)), None)) is not None:
            raise BadInput(f"strata: item {lacking!r} has no stratum; leave out items that were not drawn")
        if self.strata and self.pool_size < len(self.strata):
            raise BadInput(
                f"pool_size must be at least {len(self.strata)}, the number of items drawn from the pool; it "
                f"is {self.pool_size}"
            )
        self._check_weights()

    def _check_weights(self) -> None:
        check_mapping("weights", self.weights, "item id to number of items")
        if self.weights and self.weights.keys() != self.strata.keys():
            raise BadInput("weights and strata must be given for the same items: those drawn from the pool")
        wrong = next((name for name, w in self.weights.items() if not 1 - 1e-9 <= w < float("inf")), None)
        if wrong is not None:
            raise BadInput(
                f"weights: item {wrong!r} must have a weight of at least 1, has {self.weights[wrong]}"
            )

    @property
    def statement(self) -> ProtocolStatement:
        """The most restrictive of the protocols' statements; see `deciding_statement`."""
        return deciding_statement(self.statements)


class Labels(Sequence[Label]):
    """Labels in the order of their answers, with the design by which they were collected.

    Slices keep the design. A comparison with ``==`` ignores it.

    Attributes
    ----------
    design
        The design; without statements if only the labels are known.
    options
        The options of all items in their order, to which labels refer by position; empty if they are unknown.

    Examples
    --------
    >>> import oversight as ov
    >>> question = ov.Question("00ab", "q1", 0, "ann", 4, "partitioned", 0.25, seed=7)
    >>> labels = ov.decode([ov.Answer(question, "ann", ov.Verdict.YES, "test")])
    >>> len(labels), labels[0].kind.value, labels.design.asked
    (1, 'ordinary', frozenset({'q1'}))
    """

    __slots__ = ("_labels", "design", "options")
    __hash__ = None  # type: ignore[assignment]  # like a list's

    def __init__(
        self, labels: Iterable[Label], design: LabelDesign | None = None, options: Sequence[str] = ()
    ) -> None:
        check_records("labels", labels, Label)
        check_names("options", options)
        self._labels = tuple(labels)
        self.design = LabelDesign(statements=(), asked=frozenset()) if design is None else design
        self.options = tuple(options)

    @overload
    def __getitem__(self, place: int) -> Label: ...
    @overload
    def __getitem__(self, place: slice) -> Labels: ...
    def __getitem__(self, place: int | slice) -> Label | Labels:
        if isinstance(place, slice):
            return Labels(self._labels[place], self.design, self.options)
        return self._labels[place]

    def __len__(self) -> int:
        return len(self._labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(self._labels)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def __repr__(self) -> str:
        items = self.design.asked or {label.item_id for label in self}
        return f"<{len(self)} labels of {len(items)} items>"

    def on(self, items: Collection[str]) -> Labels:
        """Return the labels of the items with these ids, with the same design."""
        check_names("items", items)
        return Labels((x for x in self if x.item_id in items), self.design, self.options)

    def clustered(self, clusters: Mapping[str, str]) -> Labels:
        """Return the same labels with a design in which `clusters` maps item ids to clusters.

        A missing cluster (None, NaN, NaT or ``pandas.NA``) counts as no cluster. Estimates refuse an item
        without a cluster, because missing values are not clusters of their own.
        """
        check_mapping("clusters", clusters, "item id to cluster")
        return Labels(self, replace(self.design, clusters=clusters), self.options)

    def drawn_from(
        self, strata: Mapping[str, str], *, pool_size: int, weights: Mapping[str, float] | None = None
    ) -> Labels:
        """Return the labels with a design that says how the items were drawn from a larger, stratified pool.

        Parameters
        ----------
        strata
            Item id → stratum, for all drawn items, including unanswered ones.
        pool_size
            Number of items in the pool. Predictions for items outside `strata` are ignored.
        weights
            Item id → number of pool items that the item represents, ≥ 1. For a single draw, this is the
            inverse of the inclusion probability; for several draws, see
            `oversight.harness.columns.weigh_draws`. None if all probabilities were equal.

        Raises
        ------
        BadInput
            If the pool has fewer items than were drawn, a weight is below 1 or infinite, or `weights` and
            `strata` have different items.
        """
        check_mapping("strata", strata, "item id to stratum")
        check_mapping("weights", weights or {}, "item id to number of items")
        made = replace(self.design, strata=strata, pool_size=pool_size, weights=weights or {})
        return Labels(self, made, self.options)


_PLAIN = LabelDesign(statements=(), asked=frozenset())


def design_of(labels: Sequence[Label]) -> LabelDesign:
    """Return the design of `Labels`, or an empty design for a plain list of labels."""
    return labels.design if isinstance(labels, Labels) else _PLAIN


def deciding_statement(statements: Collection[ProtocolStatement]) -> ProtocolStatement:
    """Return the statement that limits the analysis most, among those of the protocols of one study."""
    return max(
        statements,
        key=lambda s: (s.estimator == "resolved", "accuracy" not in s.answers, s.estimator == "weighted"),
    )
