"""Side information: what narrows an estimate although no expert said it.

Each kind adds one estimate per model beside the protocol's own, never in its place, because runs that are
added later change it and a number that was reported before must not change. A kind is an object with a name
and a way to estimate; `add_side_information` decides where it is used, and says why if it is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from oversight.harness.columns import LabelColumns
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.combinations import NO_EFFECT, find_rule
from oversight.harness.estimate.data import Estimates, Strata
from oversight.harness.types import Estimate, protocol_estimate

LARGEST = 20_000
"""Number of answers up to which side information is used: it looks at every item for every model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The study that side information is used in.

    Attributes
    ----------
    labels
        Labels of all items.
    level
        Confidence level of each interval.
    strata
        Strata to weight by, see `Strata`.
    interval, published
        Interval and conventions that were asked for; see `accuracy`.
    """

    labels: LabelColumns
    level: float
    strata: Strata = None
    interval: str | None = None
    published: bool = False

    def refuse(self, what: str, *, weighs_strata: bool = True) -> str:
        """Why `what` cannot be used here; empty if it can."""
        given = {
            f"more than {LARGEST:,} answers": len(self.labels) > LARGEST,
            "strata": self.strata is not None and not weighs_strata,
            f"interval {self.interval!r}": self.interval not in (None, "exact", "anytime"),
            "published": self.published,
        }
        ignored = [name for name, is_given in given.items() if is_given]
        return f"{what} not used together with {', '.join(ignored)}" if ignored else ""


class SideInformation(Protocol):
    """One kind of side information.

    Attributes
    ----------
    name
        Key of its estimate among a model's estimates.
    feature
        Its name among the features of `combinations`.
    needs_plain
        Whether it is only used for models that have the protocol's own estimate.
    """

    name: str
    feature: str
    needs_plain: bool

    def refuse(self, setting: Setting) -> str:
        """Why the kind cannot be used in this setting; empty if it can."""

    def estimate(self, model: str, plain: Estimate | None, setting: Setting) -> Estimate | None:
        """Estimate the accuracy of one model.

        Parameters
        ----------
        plain
            The protocol's own estimate, None if it gives none.

        Returns
        -------
        Estimate or None
            None if there is nothing to narrow, and nothing need be said.

        Raises
        ------
        EstimateError
            If the kind cannot be used for this model; the message is shown in place of the estimate.
        """


def add_side_information(
    found: Mapping[str, Estimates], kinds: Sequence[SideInformation], setting: Setting
) -> dict[str, Estimates]:
    """Add the estimate of each kind to the estimates of each model, or the reason why there is none.

    Parameters
    ----------
    found
        Estimates by model.
    kinds
        Side information, in the order in which it is added.
    """
    made = dict(found)
    for kind in kinds:
        rule = find_rule("estimate", setting.labels.conditions | {kind.feature})
        if rule is not None and (rule.kind == NO_EFFECT or not rule.names(kind.feature)):
            continue  # nothing is said of what adds nothing, or what the protocol's own estimate says
        refused = kind.refuse(setting) if rule is None else rule.reason
        for name, estimates in made.items():
            plain = protocol_estimate(estimates)
            if plain is None and kind.needs_plain:
                continue
            one, why = (None, refused) if refused else _try(kind, name, plain, setting)
            if one is not None:
                made[name] = Estimates({**estimates, kind.name: one}, estimates.undefined)
            elif why:
                made[name] = Estimates(estimates, {**estimates.undefined, kind.name: why})
    return made


def _try(
    kind: SideInformation, model: str, plain: Estimate | None, setting: Setting
) -> tuple[Estimate | None, str]:
    """The estimate of one kind, or why there is none."""
    try:
        return kind.estimate(model, plain, setting), ""
    except EstimateError as error:
        return None, str(error)


def worth_of(plain: Estimate, narrow: Estimate) -> int | None:
    """Number of answers that would give `narrow`'s width without side information; None if not known."""
    widths = plain.high - plain.low, narrow.high - narrow.low
    if not all(widths):
        return None
    answers = plain.n.ordinary + plain.n.complementary
    return round(answers * (widths[0] / widths[1]) ** 2)
