"""Side information: what narrows an estimate although no expert said it.

Each kind adds one estimate per model beside the protocol's own, never in its place, because runs that are
added later change it and a number that was reported before must not change. A kind is a class with a name
and a way to estimate; `add_side_information` decides where it is used, and says why if it is not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from oversight.harness.columns import LabelColumns
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.combinations import NO_EFFECT, find_rule
from oversight.harness.estimate.data import Estimates, Strata
from oversight.harness.types import Estimate, Note, NoteKind, protocol_estimate

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


class SideInformation(ABC):
    """One kind of side information.

    Attributes
    ----------
    name
        Key of its estimate among a model's estimates.
    feature
        Its name among the features of `combinations`; it may be one that no rule names.
    subject
        Its name with a verb, for the message if it cannot be used: ``"votes are"``. Without it, the kind can
        be used in every setting.
    needs_plain
        Whether it is only used for models that have the protocol's own estimate.
    weighs_strata
        Whether it can be used together with strata.
    worth
        Note on how many answers would tell as much without it; None without such a note.
    """

    name: str
    feature: ClassVar[str]
    subject: ClassVar[str] = ""
    needs_plain: ClassVar[bool] = True
    weighs_strata: ClassVar[bool] = True
    worth: ClassVar[NoteKind | None] = None

    def refuse(self, setting: Setting) -> str:
        """Why the kind cannot be used in this setting; empty if it can."""
        if not self.subject:
            return ""
        return setting.refuse(self.subject, weighs_strata=self.weighs_strata)

    @abstractmethod
    def estimate(self, model: str, setting: Setting) -> Estimate | None:
        """Estimate the accuracy of one model.

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
            one, why = (None, refused) if refused else _try(kind, name, setting)
            if one is not None:
                told = _tell_worth(kind, plain, one)
                made[name] = Estimates({**estimates, kind.name: told}, estimates.undefined)
            elif why:
                made[name] = Estimates(estimates, {**estimates.undefined, kind.name: why})
    return made


def _try(kind: SideInformation, model: str, setting: Setting) -> tuple[Estimate | None, str]:
    """The estimate of one kind, or why there is none."""
    try:
        return kind.estimate(model, setting), ""
    except EstimateError as error:
        return None, str(error)


def _tell_worth(kind: SideInformation, plain: Estimate | None, narrow: Estimate) -> Estimate:
    """The estimate with a note on how many answers give its width without side information, if known."""
    if plain is None or kind.worth is None or plain.high == plain.low or narrow.high == narrow.low:
        return narrow
    answers = plain.n.ordinary + plain.n.complementary
    worth = round(answers * ((plain.high - plain.low) / (narrow.high - narrow.low)) ** 2)
    note = Note(kind.worth, {"worth": worth, "answers": answers})
    return replace(narrow, notes=(*narrow.notes, note))
