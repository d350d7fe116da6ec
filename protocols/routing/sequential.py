"""Sequential resolution: ask about predicted options until every model is known to be right or wrong.

Questions come in waves: `route` returns the first questions, and `next_questions` the following ones after
answers have arrived, until none is left. Then every model's correctness on every item is known. So a model's
accuracy is estimated as a binomial proportion, and two models are compared by McNemar's test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from oversight.harness import BadInput, EstimateError, check_mapping, derive_seed, name_protocol
from oversight.harness.config import Study
from oversight.harness.estimate import (
    RESOLUTION_ASSUMPTIONS,
    correctness,
    decode,
    next_option,
    vote_posterior,
)
from oversight.harness.types import Answer, Item, ProtocolStatement, Question, Verdict
from oversight.protocols.routing.partitioned import FreeExperts
from oversight.protocols.routing.roster import Roster
from oversight.protocols.routing.routing_protocol import (
    OptionProbabilities,
    Predictions,
    multiply_by_judges,
    option_counts,
    predicted_matrix,
    put_question,
)


@dataclass(frozen=True, slots=True)
class Sequential:
    """Asks about the predicted options of an item until it is known which models are right.

    Parameters
    ----------
    roster
        The experts.
    predictions
        Model → item id → option from 0, None if unreadable.
    seed
        Seed of the draw of experts.
    guesses
        Model → assumed accuracy, for the order of questions. Wrong values only lead to more questions.
    judge_probabilities
        Item id → judges' probability of each option, for the order only; empty without judges.
    """

    roster: Roster
    predictions: Predictions
    seed: int = 0
    guesses: Mapping[str, float] = field(default_factory=dict)
    judge_probabilities: OptionProbabilities = field(default_factory=dict)
    name: str = name_protocol("Sequential")
    statement: ClassVar = ProtocolStatement(
        estimator="resolved",
        assumptions=RESOLUTION_ASSUMPTIONS,
        checks=("yes_rate", "yes_rate_by_expert", "agreement", "resolution", "abstention"),
        needs=frozenset({"roster", "predictions"}),
        answers=frozenset({"accuracy", "difference"}),
        asks_on=True,
    )

    def __post_init__(self) -> None:
        check_mapping("predictions", self.predictions, "model to its options by item id")
        check_mapping("guesses", self.guesses, "model to accuracy")

    @classmethod
    def from_study(cls, study: Study, roster: Roster, predictions: Predictions) -> Self:
        """Create the protocol with the seed of study.toml."""
        return cls(roster, predictions, study.study.seed)

    def posterior(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Return each option's probability of being true, given models' votes and judges' probabilities.

        The result has shape (items, largest K), and determines only the order of questions.
        """
        k = option_counts(items)
        accuracy = [self.guesses.get(model, 0.5) for model in self.predictions]
        predicted = predicted_matrix(items, self.predictions)
        votes = vote_posterior(predicted, k, int(k.max()), accuracy=accuracy)
        return multiply_by_judges(votes, items, self.judge_probabilities)

    def route(self, items: Sequence[Item]) -> list[Question]:
        """Return the first wave: the most likely predicted option of every item."""
        return self.next_questions(items, ())

    def next_questions(self, items: Sequence[Item], answers: Iterable[Answer]) -> list[Question]:
        """Return the questions that are still to be asked, given all answers so far.

        Answers to questions of other protocols on these items count too. A question without an answer is
        returned again with the same id, so that asking twice changes nothing.

        Raises
        ------
        BadInput
            If a prediction is missing, an answer belongs to no item, or no expert is available.
        EstimateError
            If the answers contradict each other (two options confirmed, or all refuted).
        """
        if not items:
            return []
        said = list(answers)
        known, silent = _facts(items, said)
        free = FreeExperts(self.roster, Counter(answer.question.expert for answer in said))
        predicted, p = predicted_matrix(items, self.predictions), self.posterior(items)
        questions = []
        for row, item in enumerate(items):
            options = p[row, : len(item.options)]
            try:
                option = next_option(predicted[row].tolist(), options, known[item.id], silent[item.id])
            except EstimateError as error:
                raise EstimateError(f"item {item.id!r}: {error}; correct the wrong answer") from None
            if option is not None:
                rng = np.random.default_rng(derive_seed(self.seed, item.id, str(option)))
                expert = free.draw(item, option, rng.integers)
                questions.append(put_question(self, item, option, expert))
        return questions

    def correctness(self, items: Sequence[Item], answers: Iterable[Answer]) -> dict[str, NDArray[np.int64]]:
        """Return for each model whether it is right on every item: 1 (right), 0 (wrong) or −1 (unknown)."""
        known, _ = _facts(items, list(answers))
        predicted = predicted_matrix(items, self.predictions).tolist()
        rows = [correctness(p, known[i.id], len(i.options)) for p, i in zip(predicted, items, strict=True)]
        table = np.array(rows, dtype=np.int64).reshape(len(items), len(self.predictions))
        return {model: table[:, column] for column, model in enumerate(self.predictions)}

    decode = staticmethod(decode)


def _facts(
    items: Sequence[Item], answers: Sequence[Answer]
) -> tuple[dict[str, dict[int, bool]], dict[str, set[int]]]:
    """Return two mappings by item id: the answered options, and the options that experts left undecided.

    An answered option is mapped to whether the expert confirmed it.
    """
    ids = {item.id for item in items}
    known: dict[str, dict[int, bool]] = defaultdict(dict)
    silent: dict[str, set[int]] = defaultdict(set)
    for answer in answers:
        item_id, option = answer.question.item_id, answer.question.option
        if item_id not in ids:
            raise BadInput(f"answer to a question on the unknown item {item_id!r}")
        yes = answer.verdict is Verdict.YES
        if not yes and answer.verdict is not Verdict.NO:
            silent[item_id].add(option)
        elif known[item_id].setdefault(option, yes) != yes:
            raise BadInput(f"item {item_id!r}: option {option} was both confirmed and refuted")
    return known, silent
