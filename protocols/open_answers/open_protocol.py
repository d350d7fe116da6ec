"""Declare the protocol of open answers."""

from __future__ import annotations

from typing import ClassVar

from oversight.harness.types import ProtocolStatement


class OpenAnswers:
    """The protocol of open answers: it draws units of answers, and records the probability of each draw."""

    statement: ClassVar = ProtocolStatement(
        estimator="weighted",
        assumptions=(
            "units and experts were drawn with the recorded probabilities, before any answer",
            "an expert who says yes or no is right; what is missing is unrelated to the truth",
            "items are independent of each other",
        ),
        checks=("propensities",),
        answers=frozenset({"difference"}),
    )
