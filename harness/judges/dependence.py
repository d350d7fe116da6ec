"""Correlate the errors of judges with each other, and with the errors of the models that they judge.

An error is a question on which the yes or no of a machine (a judge or a model) differs from the expert's. The
correlation of two machines' errors is the weighted correlation of two 0/1 columns. Its interval is Fisher's,
with the variance of the linearised correlation summed by cluster. J judges whose errors have the mean
correlation ρ̄ are worth J/(1 + (J − 1) ρ̄) independent judges (Kish 1965, Survey Sampling).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from oversight.harness.arrays import FloatArray
from oversight.harness.estimate import clopper_pearson, count_effective
from oversight.harness.judges.probabilities import JudgeProbabilities
from oversight.harness.judges.questions import JudgedQuestions
from oversight.harness.judges.shares import Measure

LEAST_ERRORS = 10
"""Smallest number of errors, and of right answers, of each machine for a correlation."""
LEAST_EFFECTIVE = 5.0
"""Smallest effective number of errors, and of right answers, if answers have unequal weights."""
_CERTAIN = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCorrelation:
    """Correlation of the errors of two judges, or of a judge and a model."""

    first: str
    second: str
    correlation: Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """Correlations of judges' errors.

    Attributes
    ----------
    between
        Correlations of the errors of every two judges.
    with_models
        Correlations of the errors of every judge with those of every model.
    worth
        Effective number of independent judges; None for one judge.
    """

    between: tuple[ErrorCorrelation, ...]
    with_models: tuple[ErrorCorrelation, ...]
    worth: Measure | None


def error_dependence(
    judges: Mapping[str, JudgeProbabilities],
    models: Mapping[str, JudgeProbabilities],
    questions: JudgedQuestions,
    level: float = 0.95,
) -> Dependence:
    """Correlate the errors of judges with each other, and with the errors of models.

    Parameters
    ----------
    judges, models
        Name → probabilities for all items. `JudgeProbabilities.of_predictions` makes a model's probabilities.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judge
    >>> p, judge, asked = example_judge()
    >>> found = error_dependence({"a": judge, "b": judge}, {}, asked)
    >>> round(found.between[0].correlation.value, 2), round(found.worth.value, 2)
    (1.0, 1.0)
    """
    errors = {name: _errors(one, questions) for name, one in {**models, **judges}.items()}
    between, influences, fewest = [], [], []
    for first, second in combinations(judges, 2):
        measure, influence, few = _correlate(errors[first], errors[second], questions, level)
        between.append(ErrorCorrelation(first=first, second=second, correlation=measure))
        influences.append(influence)
        fewest.append(few)
    with_models = tuple(
        ErrorCorrelation(
            first=judge,
            second=model,
            correlation=_correlate(errors[judge], errors[model], questions, level)[0],
        )
        for judge in judges
        for model in models
    )
    worth = _worth(len(judges), between, influences, fewest, questions, level) if len(judges) > 1 else None
    return Dependence(between=tuple(between), with_models=with_models, worth=worth)


def _errors(machine: JudgeProbabilities, questions: JudgedQuestions) -> FloatArray:
    """Return 1 if the machine's and the expert's reply differ, else 0; NaN without a reply; shape (R,)."""
    says = (machine.named[questions.item] == questions.option).astype(np.float64)
    found: FloatArray = np.where(machine.speaks[questions.item], np.abs(says - questions.answer), np.nan)
    return found


def _correlate(
    first: FloatArray, second: FloatArray, questions: JudgedQuestions, level: float
) -> tuple[Measure, FloatArray, float]:
    """Return the correlation of two columns of errors, its influence values, and an effective sample size.

    There is one influence value per question, and they give the correlation's variance. The sample size is
    the smallest of four numbers: for each column, the effective number of errors and the effective number of
    right answers.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    n, influence = int(both.sum()), np.zeros(len(first))
    x, y = first[both], second[both]
    groups = [one == kind for one in (x, y) for kind in (0, 1)]
    fewest = min(int(group.sum()) for group in groups)
    effective = min(count_effective(questions.weight[both][group]) for group in groups) if fewest else 0.0
    if fewest < LEAST_ERRORS or effective < LEAST_EFFECTIVE:
        told = f"only {fewest} errors, or right answers, of one of them; at least {LEAST_ERRORS} are needed"
        return Measure.withheld(told, n), influence, effective
    share = questions.weight[both] / questions.weight[both].sum()
    a, b = x - share @ x, y - share @ y
    a, b = a / np.sqrt(share @ a**2), b / np.sqrt(share @ b**2)
    value = float(share @ (a * b))
    influence[both] = share * (a * b - value * (a**2 + b**2) / 2)
    se = float(np.sqrt((np.bincount(questions.cluster, influence) ** 2).sum()))
    if value > _CERTAIN:
        # If both judges err on the same questions, the correlation's variance is estimated as 0. So the lower
        # limit is computed from an upper bound of the share of questions on which only one of them errs.
        most = clopper_pearson(0, n, level)[1]
        spread = float(share @ (x - share @ x) ** 2)
        low = max(-1.0, 1 - most / (2 * spread))
        return Measure(value=value, low=low, high=1.0, n=n), influence, effective
    low, high = _fisher(value, se, level, effective)
    return Measure(value=value, low=low, high=high, n=n), influence, effective


def _fisher(value: float, se: float, level: float, errors: float) -> tuple[float, float]:
    """Return Fisher's interval of the correlation `value`, with `errors` − 1 degrees of freedom."""
    centre, freedom = float(np.arctanh(value)), errors - 1
    t = float(stdtrit(freedom, 0.5 + level / 2)) * float(np.sqrt(errors / freedom))
    half = t * se / (1 - value**2)
    return float(np.tanh(centre - half)), float(np.tanh(centre + half))


def _worth(
    number: int,
    between: list[ErrorCorrelation],
    influences: list[FloatArray],
    errors: list[float],
    questions: JudgedQuestions,
    level: float,
) -> Measure:
    """Return how many independent judges the `number` judges are worth, from their mean correlation."""
    values = [one.correlation.value for one in between]
    for one in between:
        if one.correlation.value is None:
            return Measure.withheld(f"{one.first} and {one.second}: {one.correlation.why}")
    mean = float(np.mean([value for value in values if value is not None]))
    n = min(one.correlation.n for one in between)
    se = float(np.sqrt((np.bincount(questions.cluster, np.mean(influences, axis=0)) ** 2).sum()))
    low, high = _fisher(min(mean, _CERTAIN), se, level, min(errors))

    def judges(correlation: float) -> float:
        return number / (1 + (number - 1) * max(0.0, correlation))

    return Measure(value=judges(mean), low=judges(high), high=judges(low), n=n)
