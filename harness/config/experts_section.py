"""Who answers a study's questions, and by which rule they are asked: ``[experts]`` of study.toml."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field, field_validator, model_validator

from oversight.harness.config.models import Section
from oversight.harness.registry import PROTOCOLS, state_protocol
from oversight.harness.types import ProtocolStatement


class ExpertsSection(Section):
    """The roster file, the rule that routes items to experts, and what is known of their errors.

    Attributes
    ----------
    roster
        File with the experts, their classes and capacities.
    protocol
        Rule by which questions are drawn, or items given to annotators; see docs/choose.md and
        docs/panels.md.
    options_per_item
        Partitioned questions: ask about so many different options of each item.
    annotators_per_item
        A panel: annotators per item, drawn of the experts with ``classes = ["*"]``; they choose among all
        options.
    models
        Models whose predictions a rule looks at; empty takes all that were run.
    epsilon
        Share of targeted draws that is uniform over the options, where the rule looks at several models.
    questions
        Draw as many items of all as so many questions are expected to settle; unset, every item is asked
        about.
    draw
        How these items are drawn: in proportion by how models agree (``"agreement"``), or with chances by
        how unsure the study's judges are (``"deviation"``).
    deadline
        Day by which answers are due, shown to experts and in reminders.
    reference
        File of labels by experts who are none of a panel's annotators, which human-level indices hold
        people and models against.
    gold
        File of items of known answer, woven into the queues as control questions; see docs/controls.md.
    gold_share
        Number of gold questions, as a share of the study's questions.
    repeat
        Share of the questions that come once more, later, to the same expert.
    overlap
        Share of the questions that are put to a second expert, too.
    sensitivity
        Range that is known to hold experts' chance of a yes to the true option.
    specificity
        Range that is known to hold experts' chance of a no to a false option.
    """

    roster: str = "experts.toml"
    protocol: str = Field(default=next(iter(PROTOCOLS)), json_schema_extra={"enum": list(PROTOCOLS)})
    options_per_item: int = Field(default=1, ge=1)
    annotators_per_item: int = Field(default=3, ge=2)
    models: list[str] = Field(default=[])
    epsilon: float = Field(default=0.1, ge=0, le=1)
    questions: int | None = Field(default=None, ge=1)
    draw: Literal["agreement", "deviation"] = "agreement"
    deadline: date | None = None
    reference: str | None = None
    gold: str | None = Field(default=None, min_length=1)
    gold_share: float = Field(default=0.1, gt=0, le=1)
    repeat: float = Field(default=0, ge=0, le=1)
    overlap: float = Field(default=0, ge=0, le=1)
    sensitivity: list[float] = Field(default=[0.5, 1.0])
    specificity: list[float] = Field(default=[0.5, 1.0])

    @field_validator("sensitivity", "specificity")
    @classmethod
    def _is_range(cls, ends: list[float]) -> list[float]:
        if len(ends) != 2 or not 0.5 <= ends[0] <= ends[1] <= 1:
            raise ValueError("must be a range within 0.5 and 1, as in [0.9, 1.0]")
        return ends

    @model_validator(mode="after")
    def _can_weave(self) -> ExpertsSection:
        """Refuse control questions where answers are no accuracy of a question asked once."""
        named = [name for name in ("gold", "repeat", "overlap") if getattr(self, name)]
        if "gold_share" in self.model_fields_set and self.gold is None:
            raise ValueError('gold_share: there are no gold items; name their file, as in gold = "key.csv"')
        if not named:
            return self
        rule = self.statement
        if rule.is_panel or rule.asks_on or "accuracy" not in rule.answers:
            told = f"the protocol {self.protocol!r} has no place for control questions"
            raise ValueError(f"{', '.join(named)}: {told}; leave it out, or use 'partitioned' or 'targeted'")
        return self

    @property
    def knows_errors(self) -> bool:
        """Whether a range is given in which experts' error rates lie."""
        return bool({"sensitivity", "specificity"} & self.model_fields_set)

    @property
    def has_controls(self) -> bool:
        """Whether control questions are woven into experts' queues."""
        return bool(self.gold or self.repeat or self.overlap)

    @property
    def is_panel(self) -> bool:
        """Whether several annotators choose among all options, and nobody is asked yes or no."""
        return self.statement.is_panel

    @property
    def statement(self) -> ProtocolStatement:
        """What the protocol's class states of its labels."""
        return state_protocol(self.protocol)

    @field_validator("protocol")
    @classmethod
    def _registered(cls, name: str) -> str:
        if name not in PROTOCOLS:
            *most, last = (repr(known) for known in PROTOCOLS)
            raise ValueError(f"Input should be {', '.join(most)} or {last}")
        return name
