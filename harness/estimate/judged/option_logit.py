"""Which option is true, by what is said of it: a conditional logit, learned from experts' yes and no.

P(y = k) ∝ exp(offset_k + Σ_f θ_f x_fk) over the options of an item (McFadden 1974, in: Frontiers in
Econometrics). An answer about option k is yes with probability p_k, whatever rule chose k by what was known
before, so yes and no have one likelihood. The parameters have a normal prior: a few answers move them
little. The result serves as a working distribution, so a model that does not fit costs width, never validity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray

_STEPS, _HALVINGS, _SMALL = 25, 12, 1e-6
_PORTION = 10_000
"""Items at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionFeatures:
    """What is said of the options of N items by F features, each of them about one option of an item.

    Attributes
    ----------
    option
        Shape (N, F): the option that the feature speaks of, −1 for none.
    value
        Shape (N, F): its value there; 0 where it speaks of none.
    n_options
        Shape (N,): K.
    center, spread
        Shape (F,): mean and standard deviation of the prior of every parameter.
    """

    option: IntArray
    value: FloatArray
    n_options: IntArray
    center: FloatArray
    spread: FloatArray

    def take(self, rows: IntArray) -> OptionFeatures:
        """Some of the items, in this order; an item may come several times."""
        return OptionFeatures(
            option=self.option[rows],
            value=self.value[rows],
            n_options=self.n_options[rows],
            center=self.center,
            spread=self.spread,
        )


def option_probabilities(features: OptionFeatures, parameters: FloatArray, width: int) -> FloatArray:
    """Probability of every option, shape (N, width), 0 beyond an item's own.

    An option that a feature speaks of has the offset log(K − 1): at parameters of 0 it is as likely as all
    options together of which nothing is said.
    """
    found = np.empty((len(features.n_options), width))
    for start in range(0, len(found), _PORTION):
        part = features.take(np.arange(start, min(start + _PORTION, len(found))))
        found[start : start + _PORTION] = _softmax(part, parameters, width)
    return found


def fit_parameters(features: OptionFeatures, asked: IntArray, answer: FloatArray, width: int) -> FloatArray:
    """Most likely parameters a posteriori, shape (F,), by Fisher's scoring.

    Parameters
    ----------
    features
        Of the n items asked about, one row an answer.
    asked, answer
        Shape (n,): the option asked about; 1 for yes, 0 for no.
    width
        Largest K.
    """
    rows, precision = np.arange(len(asked)), features.spread**-2.0
    hit = (features.option == asked[:, None]).astype(np.float64)

    def look(parameters: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log posterior, and p of what was asked and of the options that features speak of."""
        every = _softmax(features, parameters, width)
        p = np.clip(every[rows, asked], _SMALL, 1 - _SMALL)
        likelihood = float(np.log(np.where(answer > 0, p, 1 - p)).sum())
        off = parameters - features.center
        return likelihood - 0.5 * float(precision @ off**2), p, every[rows[:, None], features.option]

    parameters = features.center.copy()
    best, p, named = look(parameters)
    for _ in range(_STEPS):
        slope = (hit - named) * features.value
        gradient = slope.T @ ((answer - p) / (1 - p)) - precision * (parameters - features.center)
        information = (slope * (p / (1 - p))[:, None]).T @ slope + np.diag(precision)
        step = np.linalg.solve(information, gradient)
        for _ in range(_HALVINGS):
            value, new_p, new_named = look(parameters + step)
            if value >= best:
                break
            step = step / 2
        else:
            break
        parameters, gain = parameters + step, value - best
        best, p, named = value, new_p, new_named
        if gain < _SMALL:
            break
    return parameters


def _softmax(features: OptionFeatures, parameters: FloatArray, width: int) -> FloatArray:
    """Probability of every option, shape (N, width)."""
    rows, K = np.arange(len(features.n_options)), features.n_options
    # the last column takes what speaks of no option
    named, utility = np.zeros((2, len(rows), width + 1))
    for option, value, parameter in zip(features.option.T, features.value.T, parameters, strict=True):
        named[rows, option] = 1.0
        utility[rows, option] += value * parameter
    total = utility[:, :width] + named[:, :width] * np.log(K - 1)[:, None]
    total[np.arange(width) >= K[:, None]] = -np.inf
    weight = np.exp(total - total.max(axis=1, keepdims=True))
    probability: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return probability
