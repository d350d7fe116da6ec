"""What a certificate rests on without anybody having looked, and which observation would refute it.

Agreement with an aggregate bounds a model's accuracy from below only if the model does not share the
aggregate's errors. No label of the annotators can show that: a model that copies their plurality agrees with
it on every item and is right no more often. Only a truth can, on items where the aggregate is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oversight.harness.panel.superhuman.assumptions import AssumptionCheck

ASSUMPTION_FREE = ("U_panel", "U_t")
"""Ceilings that need nothing of how annotators err, nor where they come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One assumption of a certificate.

    Attributes
    ----------
    assumed
        In words, to be read after "if".
    unseen
        Why it is not known to hold here.
    refuted_by
        The observation that would show it false.
    """

    assumed: str
    unseen: str
    refuted_by: str


def list_conditions(
    certified: Sequence[str], check: AssumptionCheck | None, level: float, margin: float
) -> tuple[Condition, ...]:
    """What a certificate by these ceilings is conditional on, the assumption that decides it first.

    Parameters
    ----------
    margin
        By how much the lower confidence bound of the agreement exceeds the upper one of the lowest ceiling;
        the oracle labels have shown enough where agreement overstates accuracy by no more.
    """
    if not certified:
        return ()
    found = []
    if check is None or check.overstated(level) > max(0.0, margin):
        found.append(
            Condition(
                assumed="the model does not share the annotators' errors: where their aggregate is wrong, it "
                "names the truth at least as often as the aggregate's wrong class",
                unseen=_unseen(check, level, margin),
                refuted_by="an expert's truth on items of which some have a wrong aggregate: there the model "
                "gives the aggregate's wrong class more often than the truth, as one would that copies the "
                "annotators or learned from them",
            )
        )
    if not set(certified) & set(ASSUMPTION_FREE) and (check is None or not check.first_holds):
        found.append(
            Condition(
                assumed="every item's annotators were drawn from the pool that is meant, and one is right "
                "more often where another is",
                unseen="no oracle label was given" if check is None else "the oracle labels cannot tell",
                refuted_by="the way in which annotators were chosen; or an oracle by which an annotator is "
                "right less often where another one is",
            )
        )
    return tuple(found)


def _unseen(check: AssumptionCheck | None, level: float, margin: float) -> str:
    if check is None:
        return "no oracle label was given"
    return (
        f"the {check.oracle_items} items with an oracle label do not contradict it, and are too few: by "
        f"them the agreement may overstate the accuracy by {100 * check.overstated(level):.1f} points at "
        f"{level:.0%}, the margin is {100 * max(0.0, margin):.1f}"
    )
