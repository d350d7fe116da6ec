"""Split labelled items into sets for feedback, selection, confirmation and test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from oversight.agents.programs import Example
from oversight.agents.search.fitness.expert_labels import (
    ClassCounts,
    ExpertLabels,
    find_rates,
    keep_complementary,
)
from oversight.agents.search.fitness.scores import score_items
from oversight.harness import BadInput, NotIdentified, derive_seed
from oversight.harness.columns import AnyLabels, LabelColumns, align_models, read_questions
from oversight.harness.estimate import collected_part, find_reason, find_unequal, is_negligible
from oversight.harness.types import Item

SPLITS = ("feedback", "select", "confirm", "test")
UNTESTED = "there is no sealed test, because the set test has no items"
"""Note on a search whose winner cannot be tested."""


def collect_labels(labels: LabelColumns) -> tuple[LabelColumns, list[str]]:
    """Return the answers that a search may use while questions are open, and notes on answers left out.

    Raises
    ------
    NotIdentified
        If an expert has not answered any question yet.
    """
    try:
        found, notes = collected_part(labels, labels.inside)
    except NotIdentified as error:
        raise NotIdentified(f"search: {error}") from None
    return found, [note.flag for note in notes]


@dataclass(frozen=True, slots=True)
class AnswerGaps:
    """Number of a study's questions (`asked`), and of questions with neither a yes nor a no (`missing`)."""

    asked: int
    missing: int

    def explain(self, value: float, low: float, high: float) -> str:
        """Return a warning that an interval may be invalid; empty if missing answers hardly matter.

        A search uses only items that experts answered, so its interval ignores items without an answer.
        """
        share = self.missing / max(1, self.asked)
        least, most = (1 - share) * value, (1 - share) * value + share
        if is_negligible(least, value, most, high - low):
            return ""
        return (
            f"{self.missing} of {self.asked} questions have neither a yes nor a no, and items without an "
            f"answer are left out; with their answers, the accuracy could be anywhere from "
            f"{100 * least:.1f} % to {100 * most:.1f} %"
        )


def know_rates(labels: LabelColumns) -> tuple[LabelColumns, AnswerGaps]:
    """Add to labels, for each class, the share of its questions that experts answered in the whole study.

    Returns the labels, and counts of missing answers.

    These shares cannot be computed from the items of the search, because each of these items has an answer.
    """
    try:
        part, partial = collect_labels(labels)
    except NotIdentified:
        part, partial = labels, []
    unequal = find_unequal(part, np.ones(labels.index.size, np.bool_))
    answered = read_questions(part, with_open=not partial)[1]
    gaps = AnswerGaps(answered.size, int(np.count_nonzero(~answered)))
    return replace(labels, rates=None if unequal is None else unequal.rates), gaps


FEW = 5
"""Minimum number of answers about a class for which weights can compensate for missing answers."""


def refuse_silent(answered: ClassCounts, how: str) -> None:
    """Refuse complementary labels if almost no question about a class was answered.

    The few answers would hardly refute a program that always chooses this class.

    Raises
    ------
    NotIdentified
        If there is such a class; the message names it.
    """
    for name, rate in find_rates(answered).items():
        asked, said = answered[name]
        if how != "all" and said < FEW and rate < max(find_rates(answered).values()):
            raise NotIdentified(
                f"search: only {said} of {asked} questions about {name!r} were answered, which is too few to "
                f"refute a program that always answers {name!r}; labels = {how!r} needs at least {FEW} "
                'answers to these questions: collect more, or use labels = "all"'
            )


def describe_rates(rates: Mapping[str, float]) -> list[str]:
    """Return a note if experts answered unequal shares of the questions about different classes."""
    if not rates:
        return []
    name = min(rates, key=lambda each: rates[each])
    return [
        f"experts answered {rates[name]:.0%} of the questions about {name!r} and up to "
        f"{max(rates.values()):.0%} of those about other classes; "
        "answers are weighted inversely to these rates"
    ]


def describe_old_splits(items: Sequence[Item], clusters: Mapping[str, str]) -> list[str]:
    """Return a warning about a search of an older version, if its splits depended on the size of clusters."""
    if len({len(group) for group in group_items(items, clusters)}) < 2:
        return []
    return [
        "an older version split the items of this search: large clusters, and items with many copies, are "
        "too frequent in the set feedback and too rare in the set test, so the intervals may be wrong; start "
        "another search with another seed: oversight search start --set study.seed=N"
    ]


def refuse_unscorable(labelled: ExpertLabels) -> None:
    """Raise an error if these labels cannot score every possible answer; call this before any model call."""
    try:
        for option in range(labelled.refused.shape[1]):
            score_items(np.minimum(option, labelled.n_options - 1)[None], labelled)
    except NotIdentified as error:
        raise NotIdentified(f"search: {find_reason('search', {'resolved'})}: {error}") from None


def find_pool(items: Sequence[Item], labels: AnyLabels, how: str, seed: int) -> list[Item]:
    """Return the items to split: all except items that lose all their labels in `keep_complementary`."""
    if how == "all":
        return list(items)
    before = ExpertLabels.of_items(items, labels).answered
    after = keep_complementary(ExpertLabels.of_items(items, labels), how, seed).answered
    return [item for item, had, has in zip(items, before, after, strict=True) if has or not had]


def draw_splits(
    items: Sequence[Item],
    labels: AnyLabels,
    shares: Mapping[Any, float],
    seed: int,
    rungs: Sequence[int],
) -> dict[str, tuple[Item, ...]]:
    """Draw the items for feedback, selection, confirmation and test.

    Items of one cluster, and copies of an item, are in the same split. If they were not, a proposal could be
    scored on a patient or an item that it has seen in another split, and results would be biased upwards.
    The probability that a cluster gets into a split is the split's share of the items, whatever the size of
    the cluster. So the number of items in a split varies by about the size of a cluster.

    Raises
    ------
    BadInput
        If selection would have fewer items than the first rung needs.
    """
    least, most = rungs[0], rungs[-1]
    said = align_models([], labels)[1]
    places = said.index.find_places(item.id for item in items)
    # Append False, which index −1 selects for unknown items.
    answered = np.append(said.answered, False)[places]
    pool = sorted(
        (i for i, known in zip(items, answered, strict=True) if known),
        key=lambda i: derive_seed(seed, "split", i.id),
    )
    placed = _place(pool, said.cluster.by_id(said.index) if said.cluster else {}, seed)
    splits: dict[str, tuple[Item, ...]] = {}
    first = 0
    for name in SPLITS:
        count = min(round(shares.get(name, 0.0) * len(pool)), most if name == "select" else len(pool))
        part = [item for place, group in placed if first <= place < first + count for item in group]
        splits[name] = tuple(sorted(part, key=lambda i: derive_seed(seed, "split", i.id)))
        first += count
    if len(splits["select"]) < least:
        raise BadInput(
            f"search: {len(pool)} items have an expert's answer, and {len(splits['select'])} of them are "
            f"selection items, but the first rung needs {least}; collect more answers, or set "
            "smaller numbers as `rungs` under [search]"
        )
    return splits


def order_by_worth(items: Sequence[Item], labelled: ExpertLabels) -> tuple[Item, ...]:
    """Sort items by the share of wrong options that their labels rule out, largest first (stable sort).

    For an item with K options, one yes is worth about K no answers for finding the better of two programs. A
    proposal continues only if it does well on the first items, so these should have the best labels. If
    options are drawn uniformly, labels do not depend on the items' difficulty, so the first items are as
    difficult as later items. This can be false if options were drawn with unequal propensities; then the
    order stays unchanged.
    """
    if labelled.routed.any():
        return tuple(items)
    return tuple(items[i] for i in np.argsort(-labelled.ruled_out, kind="stable"))


def _place(
    pool: Sequence[Item], clusters: Mapping[str, str], seed: int
) -> list[tuple[int, tuple[Item, ...]]]:
    """Arrange groups of items in random order on a circle; return each group's first position, and the group.

    The circle has one position per item of `pool`, which is in random order. Its first item is at position 0,
    so a group of any size begins at each position with the same probability.
    """
    if not pool:
        return []
    groups = [sorted(group, key=lambda i: i.id) for group in group_items(pool, clusters)]
    # Order the groups by a hash of one item's id. Ordered by their first item in `pool`, large groups would
    # tend to come early.
    groups.sort(key=lambda group: (pool[0] not in group, derive_seed(seed, "split", group[0].id)))
    starts = np.cumsum([0, *map(len, groups[:-1])]) - groups[0].index(pool[0])
    return [(int(at) % len(pool), tuple(group)) for at, group in zip(starts, groups, strict=True)]


def group_items(pool: Sequence[Item], clusters: Mapping[str, str]) -> list[list[Item]]:
    """Group items that share a cluster or are copies; `clusters` maps item ids to clusters."""
    found: dict[str, list[Item]] = {}
    joined: dict[tuple[str, str], str] = {}
    for item in pool:
        shown = " ".join((item.text, *sorted(item.options))).casefold().split()
        marks = [("text", " ".join(shown))]
        if item.id in clusters:
            marks.append(("cluster", clusters[item.id]))
        homes = list(dict.fromkeys(joined[mark] for mark in marks if mark in joined)) or [item.id]
        home = found.setdefault(homes[0], [])
        for other in homes[1:]:
            home += found.pop(other)
            joined.update({mark: homes[0] for mark, name in joined.items() if name == other})
        home.append(item)
        joined.update(dict.fromkeys(marks, homes[0]))
    return list(found.values())


def find_solved(
    items: Sequence[Item], labelled: ExpertLabels, most: int, max_words: int | None
) -> tuple[Example, ...]:
    """Return up to `most` solved examples from items with a yes, spread evenly over the right answers."""
    by_answer: dict[str, list[Example]] = {}
    for item, option in zip(items, labelled.truth, strict=True):
        if option >= 0:
            text = " ".join(item.text.split()[:max_words])
            by_answer.setdefault(item.options[option], []).append(Example(text, item.options[option]))
    rounds = zip_longest(*by_answer.values())
    return tuple([example for found in rounds for example in found if example][:most])
