"""The statement of a protocol, and labels with the design by which they were collected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, overload

from oversight.harness.argument_checks import check_mapping, check_names, check_records
from oversight.harness.errors import BadInput
from oversight.harness.types.records import Label, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolStatement:
    """Possible uses of a protocol's labels; code asks the statement, not the protocol's name.

    Attributes
    ----------
    estimator
        ``"likelihood"``: options were drawn uniformly, so hits and misses have a binomial likelihood.
        ``"weighted"``: answers are weighted by recorded propensities. ``"resolved"``: every item's
        correctness is exact. ``"ratings"``: panels, which `oversight.harness.panel` takes.
    assumptions
        Conditions under which an estimate is valid; printed with it.
    checks
        Names of the checks of `oversight.harness.estimate` that apply.
    needs
        What must exist before the draw, besides the items.
    answers
        What can be estimated: the accuracy of one model, the difference of two, or both also for
        models that are run later.
    asks_on
        Whether further questions depend on answers.

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
        """Whether annotators choose among all options, without yes/no questions."""
        return self.estimator == "ratings"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelDesign:
    """The design by which labels were collected.

    Attributes
    ----------
    statements
        Statements of every protocol that drew one of the questions, by name.
    asked
        Ids of the items with a question, answered or not.
    drawn
        The questions, answered or not, in the order of the draw; empty if only answers are known.
    clusters
        Cluster of every item by id, for example the patient of an image; empty if items are independent.
    strata, pool_size, weights
        For items drawn from a larger pool: stratum of every drawn item by id, number of items of the pool,
        and weight of every drawn item; see `Labels.drawn_from`. Empty and 0 if all items were to be asked
        about.

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
        if self.strata and self.pool_size < len(self.strata):
            raise BadInput(
                f"pool_size must be at least {len(self.strata)}, the number of items drawn from the pool; it "
                f"is {self.pool_size}"
            )
        self._check_weights()

    def _check_weights(self) -> None:
        check_mapping("weights", self.weights, "item id to number of items")
        if self.weights and self.weights.keys() != self.strata.keys():
            raise BadInput("weights must name the items that strata name: those drawn of the pool")
        wrong = next((name for name, w in self.weights.items() if not 1 - 1e-9 <= w < float("inf")), None)
        if wrong is not None:
            raise BadInput(
                f"weights: item {wrong!r} must stand for at least 1 item, is {self.weights[wrong]}"
            )

    @property
    def statement(self) -> ProtocolStatement:
        """The statement that decides, see `deciding_statement`."""
        return deciding_statement(self.statements)


class Labels(Sequence[Label]):
    """Labels in the order of their answers, with their design; slices keep the design.

    They equal a list of the same labels, whatever their design.

    Examples
    --------
    >>> import oversight as ov
    >>> question = ov.Question("00ab", "q1", 0, "ann", 4, "partitioned", 0.25, seed=7)
    >>> labels = ov.decode([ov.Answer(question, "ann", ov.Verdict.YES, "test")])
    >>> len(labels), labels[0].kind.value, labels.design.asked
    (1, 'ordinary', frozenset({'q1'}))
    """

    __slots__ = ("_labels", "design")
    __hash__ = None  # type: ignore[assignment]  # like a list's

    def __init__(self, labels: Iterable[Label], design: LabelDesign) -> None:
        check_records("labels", labels, Label)
        self._labels = tuple(labels)
        self.design = design

    @overload
    def __getitem__(self, place: int) -> Label: ...
    @overload
    def __getitem__(self, place: slice) -> Labels: ...
    def __getitem__(self, place: int | slice) -> Label | Labels:
        if isinstance(place, slice):
            return Labels(self._labels[place], self.design)
        return self._labels[place]

    def __len__(self) -> int:
        return len(self._labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(self._labels)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def __repr__(self) -> str:
        return f"<{len(self)} labels of {len(self.design.asked)} items>"

    def on(self, items: Collection[str]) -> Labels:
        """Return the labels of these items."""
        check_names("items", items)
        return Labels((x for x in self if x.item_id in items), self.design)

    def clustered(self, clusters: Mapping[str, str]) -> Labels:
        """Return the same labels on dependent items, with the cluster of every item by id."""
        check_mapping("clusters", clusters, "item id to cluster")
        return Labels(self, replace(self.design, clusters=clusters))

    def drawn_from(
        self, strata: Mapping[str, str], *, pool_size: int, weights: Mapping[str, float] | None = None
    ) -> Labels:
        """Return the same labels on items drawn from a pool, in proportion within strata.

        Parameters
        ----------
        strata
            Stratum of every drawn item, by id, including those without an answer.
        pool_size
            Number of items of the pool. Predictions of other items are left out.
        weights
            Number of pool items that every drawn one represents, if probabilities were unequal: 1 over the
            probability for a single draw, otherwise `oversight.harness.columns.weigh_draws`. None gives
            equal weights.

        Raises
        ------
        BadInput
            If the pool is smaller than the draw, or weights are below 1 or belong to other items.
        """
        check_mapping("strata", strata, "item id to stratum")
        check_mapping("weights", weights or {}, "item id to number of items")
        made = replace(self.design, strata=strata, pool_size=pool_size, weights=weights or {})
        return Labels(self, made)


_PLAIN = LabelDesign(statements=(), asked=frozenset())


def design_of(labels: Sequence[Label]) -> LabelDesign:
    """Return the design of labels; a plain list has none."""
    return labels.design if isinstance(labels, Labels) else _PLAIN


def deciding_statement(statements: Collection[ProtocolStatement]) -> ProtocolStatement:
    """Return the most restrictive statement of several protocols in one study."""
    return max(
        statements,
        key=lambda s: (s.estimator == "resolved", "accuracy" not in s.answers, s.estimator == "weighted"),
    )
