"""How a study is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oversight.harness.columns import LabelColumns
from oversight.harness.config import Study
from oversight.harness.errors import BadInput

if TYPE_CHECKING:
    from oversight.harness.estimate import GoldCounts


def requested_interval(study: Study) -> str | None:
    """The interval that study.toml asks for; None for the default."""
    return None if study.estimate.interval == "exact" else study.estimate.interval


def study_costs(study: Study, given: str | None = None) -> Path | None:
    """The table of costs that is given, or that of study.toml; None without one."""
    if given is not None:
        return Path(given)
    return None if study.estimate.costs is None else study.path(study.estimate.costs)


def refuse_panel(study: Study, use: str) -> None:
    """Refuse a panel study, because this use needs yes/no answers.

    Raises
    ------
    BadInput
        Saying what a panel is good for.
    """
    from oversight.harness.estimate import refuse

    if study.experts.is_panel:
        refuse(use, {"ratings"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """How to estimate.

    Attributes
    ----------
    interval, level, published
        As in `oversight.harness.accuracy`.
    look, looks
        The look at the data this is, of how many planned ones (O'Brien–Fleming); 0 for one look.
    anytime
        Whether to add the interval that may be watched at all times.
    gold
        Experts' answers to items of known truth, to correct for their errors.
    joint
        Whether the intervals of all models are to hold together.
    metrics, costs
        Results by class to add, and the file that says what every truth and prediction costs.
    """

    interval: str | None = None
    level: float = 0.95
    published: bool = False
    look: int = 0
    looks: int = 0
    anytime: bool = False
    gold: GoldCounts | None = None
    joint: bool = False
    metrics: tuple[str, ...] = ()
    costs: Path | None = None

    @property
    def by_class(self) -> bool:
        """Whether results by class are wanted."""
        return bool(self.metrics) or self.costs is not None

    @classmethod
    def of_study(cls, study: Study) -> EstimateOptions:
        """The study's own settings; the default interval is no request for it where there is another."""
        section = study.estimate
        return cls(
            interval=requested_interval(study),
            level=section.level,
            metrics=tuple(section.metrics),
            costs=study_costs(study),
        )

    @property
    def level_now(self) -> float:
        """Level of the interval at this look."""
        from oversight.harness.estimate import obrien_fleming_level

        return obrien_fleming_level(self.look, self.looks, self.level) if self.looks else self.level

    def find_given(self, *names: str) -> list[str]:
        """Which of these options are given."""
        given = {
            "interval": self.interval is not None,
            "published": self.published,
            "look": self.looks > 0,
            "anytime": self.anytime,
            "gold": self.gold is not None,
            "joint": self.joint,
        }
        return [name for name in names if given[name]]

    def check_effect(self, labels: LabelColumns, *, strata: bool) -> None:
        """Refuse what the study's protocol leaves without effect; more is refused where it is estimated.

        Raises
        ------
        BadInput
            Naming the options.
        """
        if self.joint and self.anytime:
            raise BadInput(
                "joint, anytime: an interval for looking on is of one model; leave one of them out"
            )
        if not labels.statements:
            return
        rule = labels.statement
        if "accuracy" not in rule.answers:
            names = self.find_given("anytime", "interval") + ["strata"] * strata
            names += self.find_given("published", "gold", "look", "joint")
        else:
            names = self.find_given("anytime") if rule.estimator == "resolved" else []
        if names:
            what = "one model's accuracy" if "accuracy" not in rule.answers else "an interval for looking on"
            raise BadInput(f"{', '.join(names)}: this study's protocol does not allow {what}; leave it out")
