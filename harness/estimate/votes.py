"""Votes: the answers of all models as side information, which no answer is believed to be true.

What other models answer to an item says which options are likely, before an expert is asked. It enters the
score interval (`oversight.harness.estimate.intervals.tilting`) as the working distribution q of every item:
the posterior that the votes give where each model is as good as the *other* folds' answers say
(cross-fitting, `weigh_votes`), a twentieth of it made flat. E U = 0 for every q that does not look at the
item's own answer, so votes that mislead cost width, never validity; good ones narrow the interval. In survey
statistics such an estimator is called model-assisted (Särndal, Swensson & Wretman 1992).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from oversight.harness.arrays import FloatArray
from oversight.harness.columns import PredictionColumns, keep_drawn
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.data import find_strata
from oversight.harness.estimate.evaluation import complete
from oversight.harness.estimate.evidence import Evidence
from oversight.harness.estimate.routed import weigh_votes
from oversight.harness.estimate.side_information import Setting, SideInformation
from oversight.harness.types import Estimate, NoteKind

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
