"""Side information: what narrows an estimate although no expert said it.

Each kind adds one estimate per model beside the protocol's own, never in its place, because runs that are
added later change it and a number that was reported before must not change. A kind is a class with a name
and a way to estimate; `add_side_information` decides where it is used, and says why if it is not.

Votes: the answers of all models as side information, which no answer is believed to be true.

What other models answer to an item says which options are likely, before an expert is asked. It enters the
score interval (`oversight.harness.estimate.intervals.tilting`) as the working distribution q of every item:
the posterior that the votes give where each model is as good as the *other* folds' answers say
(cross-fitting, `weigh_votes`), a twentieth of it made flat. E U = 0 for every q that does not look at the
item's own answer, so votes that mislead cost width, never validity; good ones narrow the interval. In survey
statistics such an estimator is called model-assisted (Särndal, Swensson & Wretman 1992).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns, keep_drawn, keep_predicted
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.combinations import NO_EFFECT, find_rule
from oversight.harness.estimate.evaluation import complete
from oversight.harness.estimate.evidence import Evidence
from oversight.harness.estimate.routed import ErrorRanges, allows_gold_score, bounded_accuracy, weigh_votes
from oversight.harness.estimate.tallies import Estimates, Strata, find_strata
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
    worth
        Note on how many answers would tell as much without it; None without such a note.
    """

    name: str
    feature: ClassVar[str]
    subject: ClassVar[str] = ""
    needs_plain: ClassVar[bool] = True
    worth: ClassVar[NoteKind | None] = None

    def refuse(self, setting: Setting) -> str:
        """Why the kind cannot be used in this setting; empty if it can."""
        given = {
            f"more than {LARGEST:,} answers": len(setting.labels) > LARGEST,
            "strata": setting.strata is not None and self.ignores_strata(setting.labels),
            f"interval {setting.interval!r}": setting.interval not in (None, "exact", "anytime"),
            "published": setting.published,
        }
        ignored = [name for name, is_given in given.items() if is_given and self.subject]
        return f"{self.subject} not used together with {', '.join(ignored)}" if ignored else ""

    def ignores_strata(self, _labels: LabelColumns) -> bool:
        """Whether it cannot be used together with strata."""
        return False

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
            one, why = None, refused
            if not refused:
                try:
                    one = kind.estimate(name, setting)
                except EstimateError as error:
                    why = str(error)
            if one is not None:
                told = _tell_worth(kind, plain, one)
                made[name] = Estimates({**estimates, kind.name: told}, estimates.undefined)
            elif why:
                made[name] = Estimates(estimates, {**estimates.undefined, kind.name: why})
    return made


def _tell_worth(kind: SideInformation, plain: Estimate | None, narrow: Estimate) -> Estimate:
    """The estimate with a note on how many answers give its width without side information, if known."""
    if plain is None or kind.worth is None or plain.high == plain.low or narrow.high == narrow.low:
        return narrow
    answers = plain.n.ordinary + plain.n.complementary
    worth = round(answers * ((plain.high - plain.low) / (narrow.high - narrow.low)) ** 2)
    note = Note(kind.worth, {"worth": worth, "answers": answers})
    return replace(narrow, notes=(*narrow.notes, note))


ASSISTED = "assisted"


class Votes(SideInformation):
    """The votes of models; what they say of items is computed once for models with the same items.

    Parameters
    ----------
    models
        All models that answered items of the study, by name.
    """

    name, feature = ASSISTED, "votes"
    subject = "votes are"
    worth = NoteKind.VOTES_WORTH

    def __init__(self, models: Mapping[str, PredictionColumns]) -> None:
        self._models = models
        self._working = dict[bytes, FloatArray]()

    def refuse(self, setting: Setting) -> str:
        """Why votes are not used in this setting; empty if they are, or if no other model votes."""
        return super().refuse(setting) if len(self._models) > 1 else ""

    def estimate(self, model: str, setting: Setting) -> Estimate | None:
        """A model's accuracy; None if no other model votes, or every question settles its prediction.

        Raises
        ------
        NotIdentified
            If items have several questions.
        EstimateError
            As `Evidence.of`.
        """
        if len(self._models) < 2:
            return None
        drawn = {name: keep_drawn(one, setting.labels) for name, one in self._models.items()}
        # checks compare answers with all models
        labels = replace(setting.labels, models=tuple(drawn.values()))
        predictions = drawn[model]
        part, notes = collected_part(labels, predictions.is_there)
        strata = find_strata(predictions, part, setting.strata)
        evidence = Evidence.of(predictions, part, strata=strata)
        if evidence.most_questions > 1:
            raise NotIdentified("items have several questions, and votes are used with one")
        if evidence.is_settled:
            return None
        estimate = evidence.accuracy(setting.level, self._weigh(evidence, drawn))
        return replace(complete(estimate, predictions, part, notes, tilted=True), estimator=ASSISTED)

    def _weigh(self, evidence: Evidence, models: Mapping[str, PredictionColumns]) -> FloatArray:
        items = evidence.items
        key = items.tobytes()
        if key not in self._working:
            chosen = [np.maximum(one.option[items], -1) for one in models.values()]
            self._working[key] = weigh_votes(np.stack(chosen, axis=1), evidence.sample)
        return self._working[key]


def allow_for_errors(
    predictions: PredictionColumns,
    labels: LabelColumns,
    second: IntArray,
    known: ErrorRanges,
    *,
    level: float = 0.95,
) -> Estimate:
    """Estimate named ``hui_walter`` where items have a second answer, otherwise ``bounded``.

    Parameters
    ----------
    second
        Shape (items,): what a second expert said to the item's question, 1, 0, or −1 for none.
    known
        Ranges of the error rates, and answers to gold.

    Raises
    ------
    NotIdentified
        As `bounded_accuracy`, or if the draw has no likelihood: several questions an item, drawn by several
        models' predictions, or items of different K.
    EstimateError
        If an item has no cluster where items come in clusters, or nothing can be estimated.
    """
    part, notes = collected_part(labels, predictions.is_there)
    evidence = Evidence.of(predictions, part, error_free=False)
    option, sample = evidence.option(), evidence.sample
    if not allows_gold_score(option, sample):
        raise NotIdentified(
            "without gold items experts' errors are told from one question an item, its option drawn "
            "uniformly or predicted by this model, and items of one number of options"
        )
    asked = second[evidence.items[sample.item]]
    estimate = bounded_accuracy(option, sample, asked, known, level=level, cluster=evidence.cluster)
    return complete(estimate, predictions, part, notes)


class ExpertErrors(SideInformation):
    """What is known of experts' error rates without gold of both kinds.

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name.
    second, known
        As in `allow_for_errors`.
    name
        ``hui_walter`` if items have a second answer, otherwise ``bounded``.
    """

    feature = "gold"
    needs_plain = False

    def __init__(
        self, models: Mapping[str, PredictionColumns], second: IntArray, known: ErrorRanges, name: str
    ) -> None:
        self._models, self._second, self._known, self.name = models, second, known, name

    def estimate(self, model: str, setting: Setting) -> Estimate:
        """A model's accuracy, see `allow_for_errors`."""
        labels = keep_predicted(setting.labels, self._models[model])
        return allow_for_errors(self._models[model], labels, self._second, self._known, level=setting.level)
