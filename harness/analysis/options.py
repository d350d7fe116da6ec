"""How a study is estimated: options, and planned looks.

A look counts as planned only if the answers in agree with the plan. The level of look J of L supposes that
about J/L of the answers are in, that L was fixed beforehand, and that no look is taken twice with other
answers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oversight.harness.columns import LabelColumns
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.store import AuditEvent, PlannedLook, Store

if TYPE_CHECKING:
    from oversight.harness.estimate import GoldCounts


def requested_interval(study: Study) -> str | None:
    """The interval that study.toml asks for; None for the default."""
    return None if study.estimate.interval == "exact" else study.estimate.interval


def study_costs(study: Study) -> Path | None:
    """The table of costs that study.toml names; None without one."""
    return None if study.estimate.costs is None else study.path(study.estimate.costs)


def refuse_panel(study: Study, use: str) -> None:
    """Refuse a panel study, or one of open answers, because this use needs yes/no answers about options.

    Raises
    ------
    BadInput
        Saying what a panel is good for, or that the use does not apply to open answers.
    """
    from oversight.harness.estimate import refuse

    if study.is_open:
        told = "does not apply to a study of open answers; see: oversight estimate"
        name = "report_study" if use == "estimate" else f"oversight {use}"
        raise BadInput(f"{name} {told}")

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

    @property
    def given(self) -> list[str]:
        """Options that were given, by their names on the command line."""
        found = {
            "interval": self.interval is not None,
            "estimators": self.published,
            "look": self.looks > 0,
            "anytime": self.anytime,
            "gold": self.gold is not None,
            "joint": self.joint,
        }
        return [name for name, is_given in found.items() if is_given]

    def check_effect(self, labels: LabelColumns, *, strata: bool) -> None:
        """Refuse options that have no effect on these labels; estimators refuse further ones.

        Raises
        ------
        BadInput
            Naming the options.
        """
        from oversight.harness.estimate import find_reason

        if self.joint and self.anytime:
            raise BadInput(
                "joint, anytime: an interval for looking on is of one model; leave one of them out"
            )
        given = [*self.given, *(["strata"] if strata else [])]
        if given and not labels.tells_accuracy:
            raise BadInput(f"{', '.join(given)}: {find_reason('estimate', labels.conditions)}")
        if self.published and (not labels.is_even or labels.cluster is not None):
            raise BadInput(
                "estimators: the paper's estimators need options drawn with equal chances and independent "
                "items; leave it out"
            )


FARTHEST = 0.1
"""How far the share of questions answered may be from J/L."""


def check_look(study: Study, store: Store, look: PlannedLook) -> None:
    """Refuse a look that is not the next one of the plan.

    Raises
    ------
    BadInput
        If the study plans another number, the share of the drawn questions answered does not fit, or looks
        taken before contradict it.
    """
    name = f"--look {look.look}/{look.looks}"
    if study.estimate.looks not in (None, look.looks):
        raise BadInput(f"{name}: study.toml plans {study.estimate.looks} looks, in [estimate]")
    share, planned = look.answered / look.drawn if look.drawn else 0.0, look.look / look.looks
    if abs(share - planned) > FARTHEST + 1e-9:
        raise BadInput(
            f"{name}: {look.answered} of {look.drawn} drawn questions ({share:.0%}) are answered, and this "
            f"look is planned at {planned:.0%}; they may differ by {100 * FARTHEST:.0f} points at most"
        )
    before = store.looks.read_looks()
    for taken in before:
        if taken.looks != look.looks:
            raise BadInput(
                f"{name}: look {taken.look} was taken as one of {taken.looks} planned ones; their number "
                "cannot change once one was taken"
            )
    if before and before[-1].look > look.look:
        raise BadInput(f"{name}: look {before[-1].look} of {look.looks} was taken already; looks go forward")
    if before and before[-1].look == look.look and before[-1].answered != look.answered:
        more = look.look < look.looks
        raise BadInput(
            f"{name}: this look was taken with {before[-1].answered} answers, {look.answered} are in now; "
            f"{f'the next one is {look.look + 1}/{look.looks}' if more else 'it was the last'}"
        )


def note_look(store: Store, look: PlannedLook) -> None:
    """Note that a look was taken, in the audit trail, too; again it is the same look."""
    store.looks.add_look(look)
    detail = asdict(look)
    store.audit.append([AuditEvent(kind="look", way="command", key=f"look {look.look}", detail=detail)])
