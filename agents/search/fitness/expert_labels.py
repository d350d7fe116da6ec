"""Experts' labels of a fixed list of items as arrays, the input of every fitness estimator.

A search can also use only complementary labels, which name a wrong option. "Towards Scalable Oversight via
Partitioned Human Supervision", App. B, has two ways to obtain them. If the right option is known, a wrong
option is drawn uniformly, and the right option is discarded. If it is not known, an expert says whether a
uniformly drawn option is right, and items with a yes are left out. Whether an item with K options has a yes
is then pure chance, with probability 1/K. So for items with the same K, the remaining items are a random
sample; if K varies, a smaller share of the items with small K remains. In both cases, the option with a no is
drawn uniformly from the wrong options.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from oversight.harness import BadInput, BoolArray, EstimateError, FloatArray, IntArray, derive_seed
from oversight.harness.columns import (
    ABSTAINED,
    NO,
    YES,
    AnyLabels,
    LabelColumns,
    align_models,
    answering_rates,
    read_questions,
)
from oversight.harness.estimate import RoutedSample, refuse
from oversight.harness.types import Item


def keep_complementary(labelled: ExpertLabels, how: str, seed: int) -> ExpertLabels:
    """Turn labels into complementary labels by removing yes answers.

    Parameters
    ----------
    how
        ``"all"`` changes nothing. ``"no"`` removes the labels of items with a yes. ``"drawn"`` removes each
        yes. If the item then has no label, a no for a random wrong option is added.
    seed
        Seed of the draws, combined with the item's id.

    Raises
    ------
    BadInput
        If options were drawn with unequal propensities, because then a yes depends on the propensities.
    """
    if how == "all":
        return labelled
    settled = labelled.truth >= 0
    if (labelled.routed & ~settled if how == "drawn" else labelled.routed).any():
        raise BadInput(
            f"search: labels = {how!r} needs options drawn uniformly (protocol = "
            '"partitioned"); the options of this study were drawn with unequal probabilities'
        )
    refused, routed = labelled.refused.copy(), np.where(settled, False, labelled.routed)
    if how == "no":
        refused[settled] = False
    else:
        for i in np.flatnonzero(settled & ~refused.any(axis=1)):
            rng = np.random.default_rng(derive_seed(seed, "complementary", labelled.items[i]))
            wrong = int(rng.integers(labelled.n_options[i] - 1))
            refused[i, wrong + (wrong >= labelled.truth[i])] = True
    return replace(labelled, truth=np.where(settled, -1, labelled.truth), refused=refused, routed=routed)


COMMON = 5
"""Minimum number of questions about an option for it to be a class; rarer options are grouped by expert."""
ClassCounts = Mapping[str, tuple[int, int]]
"""Class → number of questions, and number of questions with a yes or a no."""


@dataclass(frozen=True, slots=True)
class ExpertLabels:
    """Labels of n items.

    Attributes
    ----------
    items
        Ids of the items.
    n_options
        Number of options K of each item, shape (n,).
    truth
        Index of the option with a yes, −1 for an item without a yes, shape (n,).
    refused
        Whether each option has a no, shape (n, largest K).
    propensities
        Probability that an option was drawn for a question, shape (n, largest K); used only if `routed`.
    routed
        Whether the item's options were drawn with unequal propensities, shape (n,).
    cluster
        Cluster number of the item, shape (n,); all different if items are independent.
    weight
        Positive weight of the item, shape (n,). An item has a larger weight if experts answered a smaller
        share of the questions about its classes. By default, all weights are 1.
    """

    items: tuple[str, ...]
    n_options: IntArray
    truth: IntArray
    refused: BoolArray
    propensities: FloatArray
    routed: BoolArray
    cluster: IntArray
    weight: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not self.weight.size:
            object.__setattr__(self, "weight", np.ones(len(self.items)))

    @property
    def answered(self) -> BoolArray:
        """Whether each item has a yes or a no, shape (n,)."""
        return (self.truth >= 0) | self.refused.any(axis=1)

    @property
    def ruled_out(self) -> FloatArray:
        """Share of each item's wrong options that its labels rule out, shape (n,); 1 if an answer is yes."""
        share: FloatArray = self.refused.sum(axis=1) / (self.n_options - 1)
        return np.where(self.truth >= 0, 1.0, share)

    @classmethod
    def of_items(
        cls,
        items: Sequence[Item],
        labels: AnyLabels,
        clusters: Mapping[str, str] | None = None,
        rates: Mapping[str, float] | None = None,
    ) -> ExpertLabels:
        """Collect the labels of these items; labels of other items and abstentions are ignored.

        An item is routed if its options were drawn with unequal propensities. A routed item with an
        abstention is left out, because the truth may determine which questions stay unanswered. `clusters`
        maps item ids to names of clusters. `rates` (from `find_rates`) maps each class to the share of
        questions about it that experts answered. If `rates` is given, an item's weight is the inverse of the
        product of its questions' rates, and an item is left out if only some of its questions were answered.

        Raises
        ------
        EstimateError
            If an item has a yes for two options, a no for every option, or two answers about one option.
        NotIdentified
            If a search cannot use this kind of labels, see `oversight.harness.estimate.combinations`.
        """
        ids = tuple(item.id for item in items)
        n_options = np.array([len(item.options) for item in items], dtype=np.int64)
        n, width = len(items), int(n_options.max(initial=2))
        columns = align_models([], labels)[1]
        refuse("search", columns.conditions)
        row, said = _rows_of(ids, columns)
        option, answered = said.option, said.kind != ABSTAINED
        _refuse_contradictions(ids, row[answered], option[answered], said.kind[answered] == YES)
        truth, refused = np.full(n, -1), np.zeros((n, width), np.bool_)
        yes, no = said.kind == YES, said.kind == NO
        truth[row[yes]] = option[yes]
        refused[row[no], option[no]] = True
        offered = said.questions.offered
        certain = (offered.number == 0) & (said.questions.propensity >= 1)
        propensities = np.zeros((n, width))
        propensities[row[certain], option[certain]] = 1.0
        place = np.arange(offered.values.size) - np.repeat(offered.start[:-1], offered.number)
        np.maximum.at(propensities, (np.repeat(row, offered.number), place), offered.values)
        routed, silent = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        routed[row[certain | (offered.number > 0)]] = True
        silent[row[~answered]] = True
        weight, partial = _weigh(items, columns, rates or {})
        drop = (silent & routed) | (partial & ~routed)
        truth[drop], refused[drop], routed[drop] = -1, False, False
        for i in np.flatnonzero(refused.sum(axis=1) >= n_options):
            raise EstimateError(f"labels: item {ids[i]!r} has a no for all its {n_options[i]} options")
        names = [clusters[i] if clusters else i for i in ids]
        cluster = np.unique(names, return_inverse=True)[1].astype(np.int64)
        return cls(ids, n_options, truth, refused, propensities, routed, cluster, weight)

    def routed_data(self, columns: IntArray) -> RoutedSample:
        """Return the answers about the items at `columns` in the form that estimators need."""
        yes = self.truth[columns, None] == np.arange(self.refused.shape[1])
        item, asked = np.nonzero(yes | self.refused[columns])
        return RoutedSample(
            item=item,
            asked=asked,
            answer=yes[item, asked].astype(np.float64),
            propensities=self.propensities[columns],
            n_options=self.n_options[columns],
        )


def count_answers(items: Sequence[Item], labels: LabelColumns, *, with_open: bool = True) -> ClassCounts:
    """Return, for each class, its number of questions, and how many of them were answered yes or no.

    Parameters
    ----------
    with_open
        Whether the number of a class's questions includes those that are still unanswered.
    """
    _, answered, classes = _read_classes(items, labels, with_open=with_open)
    number = Counter(text for text, _ in classes)
    names = [text if number[text] >= COMMON else expert for text, expert in classes]
    total, said = Counter(names), Counter(n for n, has in zip(names, answered, strict=True) if has)
    return {name: (total[name], said[name]) for name in sorted(total)}


def find_rates(counts: ClassCounts) -> dict[str, float]:
    """Return each class's share of questions with a yes or a no; empty if shares differ only by chance."""
    asked, answered = zip(*counts.values(), strict=True) if counts else ((), ())
    rates = answering_rates(asked, answered).tolist()
    return dict(zip(counts, rates, strict=True)) if len(set(rates)) > 1 else {}


def _read_classes(
    items: Sequence[Item], labels: LabelColumns, *, with_open: bool = True
) -> tuple[IntArray, BoolArray, list[tuple[str, str]]]:
    """Return, for each question, its item's position, whether it was answered, and two names of its class.

    A question's class is the group in which it is counted. The first name is the text of the question's
    option. The second contains the expert's name, and is used if few questions are about this text.
    """
    asked, answered = read_questions(labels, with_open=with_open)
    rank = _ranks([item.id for item in items], labels)[asked.item]
    mine = np.flatnonzero(rank >= 0)
    asked, rank = asked.take(mine), rank[mine]
    texts = [items[i].options[k] for i, k in zip(rank.tolist(), asked.option.tolist(), strict=True)]
    experts = [f"expert: {asked.experts[e]}" for e in asked.expert.tolist()]
    return rank, answered[mine], list(zip(texts, experts, strict=True))


def _weigh(
    items: Sequence[Item], labels: LabelColumns, rates: Mapping[str, float]
) -> tuple[FloatArray, BoolArray]:
    """Return, for every item, its weight and whether only some of its questions were answered."""
    weight, partial = np.ones(len(items)), np.zeros(len(items), np.bool_)
    if not rates:
        return weight, partial
    rank, answered, classes = _read_classes(items, labels)
    rate = np.array([rates.get(text, rates.get(expert, 1.0)) for text, expert in classes])
    np.divide.at(weight, rank[answered], rate[answered])
    number = np.bincount(rank, minlength=len(items))
    said = np.bincount(rank[answered], minlength=len(items))
    return weight, (said > 0) & (said < number)


def _ranks(ids: Sequence[str], labels: LabelColumns) -> IntArray:
    """Return, for each item in the labels' index, its position in `ids`; −1 if `ids` does not contain it."""
    place = labels.index.find_places(ids)
    rank = np.full(labels.index.size, -1)
    rank[place[place >= 0]] = np.flatnonzero(place >= 0)
    return rank


def _rows_of(ids: Sequence[str], labels: LabelColumns) -> tuple[IntArray, LabelColumns]:
    """Keep the labels whose items are in `ids`. Returns their items' positions in `ids`, and the labels."""
    rank = _ranks(ids, labels)
    mine = np.flatnonzero(rank[labels.item] >= 0)
    return rank[labels.item[mine]], labels.take(mine)


def _refuse_contradictions(ids: Sequence[str], row: IntArray, option: IntArray, yes: BoolArray) -> None:
    """Raise an error if an option of an item has two answers, or an item has two true options."""
    pairs, count = np.unique(np.column_stack([row, option]), axis=0, return_counts=True)
    for place, asked in pairs[count > 1]:
        raise EstimateError(f"labels: item {ids[place]!r} has two answers about option {asked}")
    for place in np.flatnonzero(np.bincount(row[yes]) > 1):
        first, second = option[yes & (row == place)][:2]
        raise EstimateError(
            f"labels: item {ids[place]!r} must have one true option, has yes for {first} and {second}"
        )
