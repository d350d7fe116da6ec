"""Split labelled items into those for feedback, selection, confirmation and test."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from oversight.agents.programs import Example
from oversight.agents.search.fitness import (
    ClassCounts,
    ExpertLabels,
    find_rates,
    keep_complementary,
    score_items,
)
from oversight.harness import BadInput, NotIdentified, derive_seed
from oversight.harness.columns import AnyLabels, LabelColumns, align_models, read_questions
from oversight.harness.estimate import collected_part, find_reason, find_unequal, is_negligible
from oversight.harness.types import Item

SPLITS = ("feedback", "select", "confirm", "test")


def collect_labels(labels: LabelColumns) -> tuple[LabelColumns, list[str]]:
    """Return the answers available for splits while questions are open, and notes on left-out answers.

    Raises
    ------
    NotIdentified
        If an expert has not answered any question yet.
    """
    try:
        found, notes = collected_part(labels, np.ones(labels.index.size, dtype=np.bool_))
    except NotIdentified as error:
        raise NotIdentified(f"search: {error}") from None
    return found, [note.flag for note in notes]


@dataclass(frozen=True, slots=True)
class AnswerGaps:
    """Number of a study's questions, and of those with neither a yes nor a no."""

    asked: int
    missing: int

    def explain(self, value: float, low: float, high: float) -> str:
        """Say why an interval may not be valid; empty if missing answers can hardly change the accuracy.

        All items of a search have an answer, so the missing answers concern similar items.
        """
        share = self.missing / max(1, self.asked)
        least, most = (1 - share) * value, (1 - share) * value + share
        if is_negligible(least, value, most, high - low):
            return ""
        return (
            f"{self.missing} of {self.asked} questions have neither a yes nor a no, and items without an "
            f"answer are left out: with theirs the accuracy could be anywhere from {least:.0%} to {most:.0%}"
        )


def know_rates(labels: LabelColumns) -> tuple[LabelColumns, AnswerGaps]:
    """Return labels with every option's answering rate in the whole study, and the unanswered questions.

    Items of a search all have an answer, so their own questions give no rate.
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
"""Smallest number of answers about a class with which weights can compensate for missing ones."""


def refuse_silent(answered: ClassCounts, how: str) -> None:
    """Raise an error for a search by "no" answers if hardly any question about a class was answered.

    Raises
    ------
    NotIdentified
        If so; names the class. A program that always answers with this class would never be refuted.
    """
    for name, rate in find_rates(answered).items():
        asked, said = answered[name]
        if how != "all" and said < FEW and rate < max(find_rates(answered).values()):
            raise NotIdentified(
                f"search: {said} of {asked} questions about {name!r} were answered, so nothing refutes a "
                f"program that always answers {name!r}; labels = {how!r} needs at least {FEW} of them: "
                'collect more answers, or use labels = "all"'
            )


def describe_rates(rates: Mapping[str, float]) -> list[str]:
    """Describe the effect of unequal answering rates on scores; empty if they are equal."""
    if not rates:
        return []
    name = min(rates, key=lambda each: rates[each])
    return [
        f"experts answered {rates[name]:.0%} of the questions about {name!r} and up to "
        f"{max(rates.values()):.0%} of those about other classes; every answer counts in inverse proportion"
    ]


def refuse_unscorable(labelled: ExpertLabels) -> None:
    """Raise an error for labels that cannot score any answer, before any call is made."""
    try:
        for option in range(labelled.refused.shape[1]):
            score_items(np.minimum(option, labelled.n_options - 1)[None], labelled)
    except NotIdentified as error:
        raise NotIdentified(f"search: {find_reason('search', {'resolved'})}: {error}") from None


def find_pool(items: Sequence[Item], labels: AnyLabels, how: str, seed: int) -> list[Item]:
    """Return the items for splits, without items that complementary labels leave out."""
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

    Items of one cluster, and copies of an item, are in the same split. Otherwise, knowledge of a patient, or
    of an example, would make results too good.

    Raises
    ------
    BadInput
        If fewer items than the first rung needs would be left for selection.
    """
    least, most = rungs[0], rungs[-1]
    said = align_models([], labels)[1]
    places = said.index.find_places(item.id for item in items)
    answered = np.append(said.answered, False)[places]  # False at index −1, for unknown items
    pool = sorted(
        (i for i, known in zip(items, answered, strict=True) if known),
        key=lambda i: derive_seed(seed, "split", i.id),
    )
    clusters = said.cluster.by_id(said.index) if said.cluster else {}
    waiting = deque(_group(pool, clusters))
    splits: dict[str, tuple[Item, ...]] = {}
    for name in SPLITS:
        count = min(round(shares.get(name, 0.0) * len(pool)), most if name == "select" else len(pool))
        part: list[Item] = []
        while waiting and len(part) + len(waiting[0]) <= count:
            part += waiting.popleft()
        splits[name] = tuple(sorted(part, key=lambda i: derive_seed(seed, "split", i.id)))
    if len(splits["select"]) < least:
        raise BadInput(
            f"search: {len(pool)} items have an expert's answer, which leaves {len(splits['select'])} to "
            f"select on; the first rung needs {least}: collect more answers, or lower rungs"
        )
    return splits


def order_by_worth(items: Sequence[Item], labelled: ExpertLabels) -> tuple[Item, ...]:
    """Put items first whose answers rule out most wrong options; other items keep their order.

    A yes distinguishes two programs as well as about K no answers, and a proposal's first items decide
    whether it is asked about more items. The drawn option is independent of an item's difficulty, so the
    first items are as difficult as the others. If options were drawn with unequal probabilities, this may be
    false, so the order is kept.
    """
    if labelled.routed.any():
        return tuple(items)
    return tuple(items[i] for i in np.argsort(-labelled.ruled_out, kind="stable"))


def _group(pool: Sequence[Item], clusters: Mapping[str, str]) -> list[list[Item]]:
    """Group items that share a cluster or are copies, in the order of the first item of each group."""
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
    """Return examples from items with a yes: first one of each answer, then a second one, and so on."""
    by_answer: dict[str, list[Example]] = {}
    for item, option in zip(items, labelled.truth, strict=True):
        if option >= 0:
            text = " ".join(item.text.split()[:max_words])
            by_answer.setdefault(item.options[option], []).append(Example(text, item.options[option]))
    rounds = zip_longest(*by_answer.values())
    return tuple([example for found in rounds for example in found if example][:most])
