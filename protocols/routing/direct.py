"""Compare a model directly with the average annotator by asking experts about single classes.

One annotator per item is drawn. If the model gives the same label, no question is asked. On other items,
experts are asked about the two labels one after the other (`Sequential`) until it is known which label is
right. The result, `oversight.harness.panel.direct_comparison.direct_result`, needs no assumption on how
annotators err.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness import BadInput, EstimateError, IntArray, derive_seed
from oversight.harness.panel import DirectResult, Panel, differing, direct_result, draw_annotators
from oversight.harness.types import Answer, Item, Question
from oversight.protocols.routing.predicted_options import Sequential
from oversight.protocols.routing.roster import Roster

MODEL, ANNOTATOR = "model", "annotator"


@dataclass(frozen=True, slots=True)
class Direct:
    """Direct comparison of a model with a random annotator per item.

    Parameters
    ----------
    roster
        Experts who judge the classes.
    items
        The panel's items, in the panel's order. Each item's options must include every class of the panel.
    panel, predicted
        The panel's ratings, and the index of the model's class for each item; negative if unreadable.
    seed
        Seed of the draws of annotators, items and experts.
    limit
        Largest number of disagreements to ask about (`oversight.harness.panel.direct_comparison.direct_plan`
        computes it). If there are more, a random subset is drawn. None asks about all of them.
    """

    roster: Roster
    items: Sequence[Item]
    panel: Panel
    predicted: IntArray
    seed: int = 0
    limit: int | None = None

    def __post_init__(self) -> None:
        ids = tuple(item.id for item in self.items)
        if ids != self.panel.items:
            raise BadInput("`items` must be the panel's items, in the same order")
        if self.panel.cluster is not None:
            raise BadInput("the direct comparison needs independent items, but these are in clusters")
        for item in self.items:
            missing = next((c for c in self.panel.classes if c not in item.options), None)
            if missing is not None:
                raise BadInput(f"item {item.id!r} has no option {missing!r}, which is a class of the panel")

    @property
    def asked(self) -> list[Item]:
        """Items to ask about: at most `limit` items on which the drawn annotator and the model differ."""
        places = differing(self._drawn(), self.predicted)
        if self.limit is not None:
            rng = np.random.default_rng(derive_seed(self.seed, "direct"))
            places = np.sort(rng.permutation(places)[: self.limit])
        return [self.items[int(j)] for j in places]

    def next_questions(self, answers: Iterable[Answer] = ()) -> list[Question]:
        """Return the questions that are still to be asked, given all answers so far."""
        return self._sequential().next_questions(self.asked, list(answers))

    def result(self, answers: Iterable[Answer], *, level: float = 0.95) -> DirectResult:
        """Test whether the model is better than the annotators, and estimate the difference.

        All questions must be answered before this call.

        An item that stays undecided because an expert abstained counts against the model in the test. The
        interval covers both possible outcomes of this item.

        Raises
        ------
        EstimateError
            If questions are open. An early result would be biased: a first yes decides an item, but after a
            first no it is still open.
        """
        answers, asked = list(answers), self.asked
        still = len(self.next_questions(answers))
        if still:
            raise EstimateError(f"{still} of {len(asked)} items are not decided yet; ask the open questions")
        known = self._sequential().correctness(asked, answers) if asked else {}
        pairs = list(zip(known.get(MODEL, ()), known.get(ANNOTATOR, ()), strict=True))
        wins, losses = pairs.count((1, 0)), pairs.count((0, 1))
        neither = pairs.count((0, 0))
        # If only a share of the disagreements is asked about, the result covers the same share of all items.
        every = len(differing(self._drawn(), self.predicted))
        screened = round(len(self.items) * len(asked) / every) if every else len(self.items)
        return direct_result(
            wins,
            losses,
            neither=neither,
            unsettled=len(asked) - wins - losses - neither,
            screened=max(1, screened),
            level=level,
        )

    def _drawn(self) -> IntArray:
        return draw_annotators(self.panel, self.seed)

    def _sequential(self) -> Sequential:
        return Sequential(
            self.roster,
            {MODEL: self._options(self.predicted), ANNOTATOR: self._options(self._drawn())},
            self.seed,
            name="direct",
        )

    def _options(self, codes: IntArray) -> Mapping[str, int | None]:
        return {
            item.id: item.options.index(self.panel.classes[int(c)]) if c >= 0 else None
            for item, c in zip(self.items, codes, strict=True)
        }
