"""Protocols that ask about the options that the tested models predict.

Targeted routing: for one model, the expert of the predicted option is asked, which is optimal. For several
models, one option k per item is drawn with a propensity proportional to √(n_k s_k). Here n_k is the number of
models that predict option k, p_k is the probability that option k is true, and s_k = p_k(1 − p_k). A share ε
of the propensity is spread over all options, so that the answers can also be used for models added later. To
compare two models, `Disagreement` asks only about items on which they differ, and draws one of the two
predicted options at random.

Sequential resolution: ask about predicted options until every model is known to be right or wrong. Questions
come in waves: `route` returns the first questions, and `next_questions` the following ones after answers have
arrived, until none is left. Then every model's correctness on every item is known. So a model's accuracy is
estimated as a binomial proportion, and two models are compared by McNemar's test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from oversight.harness import BadInput, EstimateError, check_mapping, derive_seed, name_protocol
from oversight.harness.config import Study
from oversight.harness.estimate import (
    RESOLUTION_ASSUMPTIONS,
    ROUTED_ASSUMPTIONS,
    correctness,
    decode,
    disagreement,
    next_option,
    predicted_counts,
    propensities_for,
    vote_posterior,
)
from oversight.harness.types import Answer, Item, ProtocolStatement, Question, Verdict
from oversight.protocols.routing.partitioned import FreeExperts
from oversight.protocols.routing.roster import Roster
from oversight.protocols.routing.routing_protocol import (
    OptionProbabilities,
    Predictions,
    put_question,
)


def predicted_matrix(items: Sequence[Item], predictions: Predictions) -> NDArray[np.int64]:
    """Return predictions in shape (items, models), in the given order; −1 for an unreadable answer (None).

    Raises
    ------
    BadInput
        If there is no model, a prediction is missing or is not one of the item's options, or an item occurs
        twice.
    """
    if not predictions:
        raise BadInput("this protocol uses predictions; give those of at least one model")
    if len({item.id for item in items}) < len(items):
        raise BadInput("item ids must be unique; one is given twice")
    matrix = np.full((len(items), len(predictions)), -1, dtype=np.int64)
    for column, (model, by_item) in enumerate(predictions.items()):
        for row, item in enumerate(items):
            if item.id not in by_item:
                raise BadInput(f"model {model!r} has no prediction for the item {item.id!r}: run it first")
            option = by_item[item.id]
            if option is None:
                continue
            if not -1 <= option < len(item.options):
                raise BadInput(
                    f"model {model!r}, item {item.id!r}: the prediction {option} is not one of its "
                    f"{len(item.options)} options"
                )
            matrix[row, column] = option
    return matrix


def option_counts(items: Sequence[Item]) -> NDArray[np.int64]:
    """Return the number of options K of every item, shape (items,)."""
    return np.array([len(item.options) for item in items], dtype=np.int64)


def _weigh_options(
    rule: Targeted | Sequential, items: Sequence[Item], accuracy: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """Return each option's probability of being true, given models' votes and judges' probabilities."""
    k = option_counts(items)
    votes = vote_posterior(predicted_matrix(items, rule.predictions), k, int(k.max()), accuracy=accuracy)
    for row, item in enumerate(items):
        said = rule.judge_probabilities.get(item.id)
        if said is not None:
            both = votes[row, : len(said)] * said
            votes[row, : len(said)] = both / both.sum()
    return votes


@dataclass(frozen=True, slots=True)
class Targeted:
    """One question per item, with propensities that depend on predictions.

    Parameters
    ----------
    roster
        The experts.
    predictions
        Model → item id → option from 0, None if unreadable. Other predictions lead to other propensities.
    seed
        Seed of all draws.
    epsilon
        Share of the propensity that is spread evenly over the item's options; ignored if there is only one
        model.
    judge_probabilities
        Item id → judges' probability of each option; empty without judges. A wrong judge makes estimates less
        precise, but not invalid: propensities are recorded, and bounded from below if `epsilon` is above 0.
    """

    roster: Roster
    predictions: Predictions
    seed: int = 0
    epsilon: float = 0.1
    judge_probabilities: OptionProbabilities = field(default_factory=dict)
    name: str = name_protocol("Targeted")
    statement: ClassVar = ProtocolStatement(
        estimator="weighted",
        assumptions=ROUTED_ASSUMPTIONS,
        checks=(
            "yes_rate",
            "yes_rate_by_expert",
            "agreement",
            "propensities",
            "routed_for",
            "abstention",
        ),
        needs=frozenset({"roster", "predictions"}),
        answers=frozenset({"accuracy", "difference"}),
    )

    def __post_init__(self) -> None:
        check_mapping("predictions", self.predictions, "model to its options by item id")
        if not 0 <= self.epsilon <= 1:
            raise BadInput(f"epsilon must be in [0, 1], is {self.epsilon}")

    @classmethod
    def from_study(cls, study: Study, roster: Roster, predictions: Predictions) -> Self:
        """Create the rule from study.toml."""
        return cls(roster, predictions, study.study.seed, study.experts.epsilon)

    def posterior(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Return each option's probability of being true, given models' votes and judges' probabilities."""
        return _weigh_options(self, items)

    def propensities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Return the probability with which each option is asked about, shape (items, largest K).

        A row sums to 1, or to 0 if nothing is asked about the item. Nothing is asked if there is only one
        model and its prediction is unreadable, because an unreadable prediction always counts as wrong.
        """
        predicted, k = predicted_matrix(items, self.predictions), option_counts(items)
        alone = predicted.shape[1] == 1
        posterior = None if alone else self.posterior(items)
        return propensities_for(predicted, k, int(k.max()), epsilon=self.epsilon, posterior=posterior)

    def route(self, items: Sequence[Item]) -> list[Question]:
        """Draw one option per item and an expert for it.

        Raises
        ------
        BadInput
            If a prediction is missing, or nobody with capacity left can judge a drawn option.
        """
        free = FreeExperts(self.roster)
        questions: list[Question] = []
        if not items:
            return questions
        for item, pi in zip(items, self.propensities(items), strict=True):
            if not pi.any():
                continue
            rng = np.random.default_rng(derive_seed(self.seed, item.id))
            option = int(rng.choice(len(pi), p=pi / pi.sum()))
            expert = free.draw(item, option, rng.integers)
            each = tuple(float(p) for p in pi[: len(item.options)])
            questions.append(put_question(self, item, option, expert, each[option], each))
        return questions

    decode = staticmethod(decode)


@dataclass(frozen=True, slots=True)
class Disagreement(Targeted):
    """Comparison of two models that asks only about items on which they differ.

    Items on which the models agree need no question and do not affect the difference. The accuracy of
    either model alone cannot be estimated.
    """

    name: str = name_protocol("Disagreement")
    statement: ClassVar = replace(
        Targeted.statement,
        checks=("yes_rate", "yes_rate_by_expert", "coin"),
        answers=frozenset({"difference"}),
    )

    def __post_init__(self) -> None:
        Targeted.__post_init__(self)
        if len(self.predictions) != 2:
            raise BadInput(
                f"the protocol 'disagreement' compares 2 models, not {len(self.predictions)}; name two under "
                '[experts], for example models = ["a", "b"]'
            )

    def propensities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Return equal probabilities for the predicted options; an item's row is 0 if the models agree."""
        predicted = predicted_matrix(items, self.predictions)
        counts = predicted_counts(predicted, int(option_counts(items).max()))
        counts *= disagreement(predicted)[:, None]
        total = counts.sum(axis=1, keepdims=True)
        pi: NDArray[np.float64] = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        return pi


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
        return _weigh_options(self, items, [self.guesses.get(model, 0.5) for model in self.predictions])

    def route(self, items: Sequence[Item]) -> list[Question]:
        """Return the first wave of questions, about every item's most likely predicted option."""
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
