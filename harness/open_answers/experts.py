"""How often experts err and disagree, from control questions and repeated ones."""

from __future__ import annotations

from dataclasses import dataclass

from oversight.harness.estimate import Rate
from oversight.harness.open_answers.units import Judgements


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertReplies:
    """What an expert's replies tell of the expert.

    Attributes
    ----------
    expert
        Name; "" for all together.
    yes_for_yes, no_for_no
        Share of right replies to control questions whose true reply is "yes", and "no"; None without any.
    agrees
        Share of other experts' yes and no about the same questions that the expert shares; None without any.
    """

    expert: str
    yes_for_yes: Rate | None
    no_for_no: Rate | None
    agrees: Rate | None


def measure_experts(judgements: Judgements, *, level: float = 0.95) -> tuple[ExpertReplies, ...]:
    """Measure every expert, and all together first."""
    raise NotImplementedError
