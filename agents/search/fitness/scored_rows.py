"""Scores of answers that have not changed since: a search scores each answer once, not once a slot."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oversight.agents.search.fitness.answer_table import AnswerTable
from oversight.agents.search.fitness.expert_labels import ExpertLabels
from oversight.agents.search.fitness.scores import score_items
from oversight.harness import FAILED, FloatArray
from oversight.harness.store import split_into_batches
from oversight.harness.types import Item

_AT_ONCE = 128
"""Rows that are scored together: many more take memory, and no less time."""


@dataclass(slots=True)
class ScoredRows:
    """Rows of `score_items`, kept as long as answers, items and labels stay what they are.

    Attributes
    ----------
    last
        What was made of all of them last, with the key that says of which: a page asks for what a report has
        just made.
    """

    _items: Sequence[Item] | None = None
    _labelled: ExpertLabels | None = None
    _rows: dict[tuple[str, str, int], tuple[int, FloatArray]] = field(default_factory=dict)
    _votes: dict[int, bytes] = field(default_factory=dict)
    last: tuple[Hashable, Any] | None = None

    def begin(self, items: Sequence[Item], labelled: ExpertLabels) -> None:
        """Forget all that was made of other items or labels."""
        if self._items is not items or self._labelled is not labelled:
            self._items, self._labelled, self.last = items, labelled, None
            self._rows.clear()
            self._votes.clear()

    def score(
        self,
        table: AnswerTable,
        ids: Sequence[str],
        items: Sequence[Item],
        labelled: ExpertLabels,
        *,
        estimator: str,
        replicate: int,
    ) -> FloatArray:
        """Score candidates in one of their replicates, shape (M, n)."""
        self.begin(items, labelled)
        voters = None
        if labelled.routed.any():  # their posterior is made of all votes of those that answered all items
            voters = table.options(ids, items, replicate)
            votes = voters[(voters[:, labelled.routed] != FAILED).all(axis=1)].tobytes()
            if self._votes.get(replicate) != votes:
                self._votes[replicate] = votes
                self._rows = {key: kept for key, kept in self._rows.items() if key[2] != replicate}
        changes = [table.changes.get((c, replicate), 0) for c in ids]
        keys = [(estimator, c, replicate) for c in ids]
        new = [j for j, key in enumerate(keys) if key not in self._rows or self._rows[key][0] != changes[j]]
        for some in split_into_batches(new, _AT_ONCE):
            # numpy adds up the items of a row that is alone in another order than those of several
            rows = [ids[j] for j in (some * 2 if len(some) == 1 else some)]
            found = score_items(table.options(rows, items, replicate), labelled, estimator, voters)
            for j, row in zip(some, found, strict=False):
                self._rows[keys[j]] = changes[j], row.copy()
        return np.stack([self._rows[key][1] for key in keys])
