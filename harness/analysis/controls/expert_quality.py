"""What control questions tell of every expert: error rates, steadiness, agreement and drift."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from oversight.harness.arrays import IntArray
from oversight.harness.columns import ItemIndex
from oversight.harness.config import Study
from oversight.harness.store import ControlKind, ControlQuestion, Response, Store
from oversight.harness.types import Verdict

if TYPE_CHECKING:
    from oversight.harness.estimate import Rate, RateChange

ALL = "all experts"
SAID = {Verdict.YES.value: True, Verdict.NO.value: False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertQuality:
    """One expert's answers to control questions; those of all together under the name `ALL`.

    Attributes
    ----------
    asked, answered
        Control questions, and those answered with yes or no.
    sensitivity
        Share of yes on gold questions about the true option; None without any, as in all below.
    specificity
        Share of no on gold questions about a false option.
    steadiness
        Share of repeats that were answered as the first time.
    agreement
        Share of the expert's questions with a second expert, on either side, on which both said the same.
    drift
        Change of the share of right answers to gold, from the first half of them to the second in the order
        in which they came; None below four.
    """

    name: str
    asked: int
    answered: int
    sensitivity: Rate | None
    specificity: Rate | None
    steadiness: Rate | None
    agreement: Rate | None
    drift: RateChange | None


@dataclass(frozen=True, slots=True)
class _Said:
    """Answers of an expert, in order of arrival.

    Of gold whether the question was about the truth, and whether the answer is right; of pairs whether both
    are alike, those on questions of a first and of a second expert apart.
    """

    gold: list[tuple[bool, bool]]
    repeats: list[bool]
    as_first: list[bool]
    as_second: list[bool]

    @property
    def halves(self) -> tuple[list[bool], list[bool]]:
        """Which answers to gold are right, in the first half and in the rest."""
        right = [ok for _, ok in self.gold]
        return right[: len(right) // 2], right[len(right) // 2 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlAnswers:
    """Control questions with what was said to them and to the questions that they put again.

    Attributes
    ----------
    controls
        All control questions.
    replies
        Control question → reply, in order of arrival.
    originals
        Question of the study → reply, of those that were put again.
    truth
        Gold item → true option.
    takers
        Control question → who is to answer it, of those that were handed over.
    """

    controls: Sequence[ControlQuestion]
    replies: Mapping[str, Response]
    originals: Mapping[str, Response]
    truth: Mapping[str, int]
    takers: Mapping[str, str] = field(default_factory=dict)

    def report(self, level: float = 0.95) -> tuple[ExpertQuality, ...]:
        """Every expert with a control question, by name, and `ALL` behind them; each rate at this level."""
        asked = defaultdict[str, list[ControlQuestion]](list)
        for control in self.controls:
            reply = self.replies.get(control.id)
            holder = self.takers.get(control.id, control.expert)
            asked[holder if reply is None else reply.expert].append(control)
        said = self._read()
        rows = [
            _describe(name, own, [said[name]], self.replies, level) for name, own in sorted(asked.items())
        ]
        if len(rows) > 1:
            rows.append(_describe(ALL, self.controls, list(said.values()), self.replies, level))
        return tuple(rows)

    def count_gold(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Right and wrong answers of all experts to gold: about the true option, and about a false one."""
        found = Counter(pair for said in self._read().values() for pair in said.gold)
        return (found[True, True], found[True, False]), (found[False, True], found[False, False])

    def find_second(self, index: ItemIndex) -> IntArray:
        """Shape (items,): what a second expert said to the item's question, 1, 0, or −1 for none."""
        second = np.full(index.size, -1)
        for control in self.controls:
            reply, first = self.replies.get(control.id), self.originals.get(control.original)
            said = None if reply is None else SAID.get(reply.value)
            # whoever took a question over may be the one who answered it first
            is_other = reply is not None and (first is None or first.expert != reply.expert)
            if control.kind is ControlKind.OVERLAP and said is not None and is_other:
                second[index.places[control.item_id]] = int(said)
        return second

    def _read(self) -> dict[str, _Said]:
        found = defaultdict[str, _Said](lambda: _Said([], [], [], []))
        by_id = {c.id: c for c in self.controls}
        for name, reply in self.replies.items():
            control, said = by_id[name], SAID.get(reply.value)
            if said is None:
                continue
            if control.kind is ControlKind.GOLD:
                about_truth = self.truth[control.item_id] == control.option
                found[reply.expert].gold.append((about_truth, said is about_truth))
                continue
            first = self.originals.get(control.original)
            other = None if first is None else SAID.get(first.value)
            if first is None or other is None:
                continue
            if reply.expert == first.expert:
                found[reply.expert].repeats.append(said is other)
            else:
                found[reply.expert].as_second.append(said is other)
                found[first.expert].as_first.append(said is other)
        return found


def read_control_answers(store: Store) -> ControlAnswers | None:
    """What experts said to control questions; None if none was drawn."""
    controls = store.controls.read_controls()
    if not controls:
        return None
    originals = store.content.replies.find_replies({c.original for c in controls if c.original})
    return ControlAnswers(
        controls=controls,
        replies=store.controls.replies.read_replies(),
        originals=originals,
        truth={name: gold.truth for name, gold in store.controls.read_gold_items().items()},
        takers={name: handed.taker for name, handed in store.handovers.read_handovers().items()},
    )


def read_quality(study: Study, store: Store) -> tuple[ExpertQuality, ...]:
    """What control questions tell of the experts of a study, at its level; empty without any."""
    answers = read_control_answers(store)
    return answers.report(study.estimate.level) if answers else ()


def _describe(
    name: str,
    asked: Sequence[ControlQuestion],
    said: Sequence[_Said],
    replies: Mapping[str, Response],
    level: float,
) -> ExpertQuality:
    """One expert, or all together: halves are then those of each, and a pair counts once."""
    from oversight.harness.estimate import compare_rates  # as in `_rate`

    gold = [pair for one in said for pair in one.gold]
    first, last = ([ok for one in said for ok in one.halves[half]] for half in (0, 1))
    pairs = [alike for one in said for alike in one.as_second]
    if len(said) == 1:
        pairs += said[0].as_first
    return ExpertQuality(
        name=name,
        asked=len(asked),
        answered=sum(c.id in replies and replies[c.id].value in SAID for c in asked),
        sensitivity=_rate((ok for about, ok in gold if about), level),
        specificity=_rate((ok for about, ok in gold if not about), level),
        steadiness=_rate((alike for one in said for alike in one.repeats), level),
        agreement=_rate(pairs, level),
        drift=compare_rates(first, last, level) if len(first) > 1 else None,
    )


def _rate(outcomes: Iterable[bool], level: float) -> Rate | None:
    from oversight.harness.estimate import (
        Rate,  # with statistics, which a study without control questions needs not
    )

    found = list(outcomes)
    return Rate.of_outcomes(found, level) if found else None
