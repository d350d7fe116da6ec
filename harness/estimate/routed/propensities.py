"""Which option to ask about next, and with what probability.

Which option to ask about, and of which items: propensities fixed before any answer.

A yes/no question about option k of an item costs one expert answer. What a question is worth
depends on the models' predictions, which cost no expert: that is what these functions use.
Predictions have shape (N, M), one column a model, −1 for unreadable.

Sequential resolution: ask until every model's answer to the item is known right or wrong.

Ask about the predicted options of an item by decreasing posterior until one is confirmed or all are
refuted. After that the correctness of every model on the item is known exactly, whatever the
posterior: estimates are those of ordinary labels (binomial, McNemar) with no propensities. The
posterior only sets the order, hence the cost. One yes settles all models, because exactly one
option is true; and when all options but one are refuted, the last is true without a question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oversight.harness.arrays import UNKNOWN, BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import fix_constant
from oversight.harness.estimate.routed.routed_sample import accuracy_target, flat_posterior


def targeted_propensities(predicted: ArrayLike, width: int) -> FloatArray:
    """π_ŷ = 1: always ask the expert of the predicted option. Shape (N, width).

    For one model no routing does better. Derivation: 1/V* = t/s_ŷ + (1 − t)/(Σ_{j≠ŷ} √s_j)² is
    linear in t = π_ŷ, and s_ŷ = Var(Σ_{j≠ŷ} 1{y=j}) ≤ (Σ_{j≠ŷ} √s_j)², so t = 1 is best (with
    equality only at K = 2). Unreadable predictions are wrong whatever the truth: their row is 0.
    """
    return accuracy_target(predicted, width)


def predicted_counts(predicted: ArrayLike, width: int) -> FloatArray:
    """n_k: how many models predict option k of each item; shape (N, width)."""
    columns = np.asarray(predicted, dtype=np.int64)
    if columns.ndim != 2 or columns.shape[1] == 0:
        raise EstimateError(f"predicted must have shape (N, M >= 1), has {columns.shape}")
    counts: FloatArray = np.sum([accuracy_target(column, width) for column in columns.T], axis=0)
    return counts


def shared_propensities(
    predicted: ArrayLike,
    n_options: ArrayLike,
    width: int,
    *,
    posterior: FloatArray | None = None,
    epsilon: float = 0.1,
) -> FloatArray:
    """π_k = (1 − ε) √(n_k s_k)/Σ_j √(n_j s_j) + ε/K: one question that serves several models.

    Derivation: with C = 0 the models' summed variance is Σ_k n_k s_k/π_k, least at π_k ∝ √(n_k s_k)
    (Cauchy–Schwarz), s_k = p_k(1 − p_k). The share ε goes uniformly over the item's K options, so
    that the answers also serve models that come later, and bounds 1/π by K/ε.

    Parameters
    ----------
    predicted
        Shape (N, M).
    n_options
        Shape (N,) or a number: K of each item.
    posterior
        Shape (N, width); flat if not given, then π_k ∝ √n_k.
    epsilon
        In [0, 1]. At 0, options nobody predicts are never asked about.

    Raises
    ------
    EstimateError
        If epsilon is out of range. An item no model gives a readable answer to is asked uniformly
        with the whole share (or not at all at ε = 0).
    """
    if not 0 <= epsilon <= 1:
        raise EstimateError(f"epsilon must lie in [0, 1], is {epsilon}")
    counts = predicted_counts(predicted, width)
    flat = flat_posterior(np.broadcast_to(np.asarray(n_options, dtype=np.int64), len(counts)), width)
    p = flat if posterior is None else posterior
    # A certain posterior would give weight 0 to what is predicted, hence unbounded 1/π.
    s = np.maximum(p * (1 - p), 1e-4)
    weight = np.sqrt(counts * s)
    total = weight.sum(axis=1, keepdims=True)
    rest = flat if epsilon > 0 else np.zeros_like(flat)
    shares = np.divide(weight, total, out=rest.copy(), where=total > 0)
    pi: FloatArray = (1 - epsilon) * shares + epsilon * flat
    return pi


def propensities_for(
    predicted: ArrayLike,
    n_options: ArrayLike,
    width: int,
    *,
    epsilon: float = 0.1,
    posterior: FloatArray | None = None,
) -> FloatArray:
    """π of targeted routing for the models in ``predicted``, shape (N, M): of one, or shared by several.

    Parameters as of `shared_propensities`; the posterior is by default that of the models' votes.
    """
    columns = np.asarray(predicted, dtype=np.int64)
    if columns.shape[1] == 1:
        return targeted_propensities(columns[:, 0], width)
    if posterior is None:
        posterior = vote_posterior(columns, n_options, width)
    return shared_propensities(columns, n_options, width, posterior=posterior, epsilon=epsilon)


def vote_posterior(
    predicted: ArrayLike,
    n_options: ArrayLike,
    width: int,
    *,
    accuracy: ArrayLike | None = None,
    temper: float | None = None,
) -> FloatArray:
    """p_k ∝ [Π_m (A_m (K−1)/(1−A_m))^{1{ŷ_m = k}}]^τ: what the models' votes say of the truth.

    The posterior of models that err independently and uniformly, raised to a power τ ≤ 1 because
    models err together: τ = 1 for one model, and 1/√M by default for M. As a working posterior it
    need not be right, and orders the options. Derivation: Bayes' rule with a flat prior.

    Parameters
    ----------
    predicted
        Shape (N, M), −1 counts for nothing.
    accuracy
        Shape (M,), guesses, cut to [.01, .99]; default ½ each (a little more at K = 2). Below 1/K a
        vote speaks against its option.
    temper
        τ in (0, 1].
    """
    columns = np.asarray(predicted, dtype=np.int64)
    models = columns.shape[1]
    tau = 1 / np.sqrt(models) if temper is None else temper
    if not 0 < tau <= 1:
        raise EstimateError(f"temper must lie in (0, 1], is {tau}")
    k = np.broadcast_to(np.asarray(n_options, dtype=np.int64), len(columns))
    guesses = np.full(models, 0.5) if accuracy is None else np.asarray(accuracy, dtype=np.float64)
    log_odds = np.zeros((len(columns), width))
    for model in range(models):
        least = 0.01 if accuracy is not None else 1 / k + 0.01
        guess = np.clip(guesses[model], least, 0.99)
        gain = np.log(guess * (k - 1) / (1 - guess))
        log_odds += accuracy_target(columns[:, model], width) * gain[:, None]
    valid = np.arange(width) < k[:, None]
    weight = np.where(valid, np.exp(tau * (log_odds - log_odds.max(axis=1, keepdims=True))), 0.0)
    posterior: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return posterior


def neyman_rates(variance: FloatArray, cost: FloatArray, budget: float, *, floor: float = 0.02) -> FloatArray:
    """ρ(x) ∝ √(V(x)/cost(x)), within [floor, 1], with Σ ρ·cost = budget; shape (N,).

    Derivation: the variance of an item-sampled mean is Σ V_i/ρ_i /N² up to a constant; Lagrange's
    condition under Σ ρ_i cost_i = budget gives the proportionality (Neyman 1934, JRSS 97, with
    costs). The floor keeps every item possible, which unbiasedness needs.

    Parameters
    ----------
    variance
        Shape (N,), ≥ 0: what is uncertain about the item, e.g. the mean of p_ŷ(1 − p_ŷ).
    cost
        Shape (N,), > 0: expected number of questions; items of cost 0 get ρ = 1.
    budget
        Expected number of questions in all.

    Raises
    ------
    EstimateError
        If the budget cannot pay for the floor, or an argument is out of range.
    """
    if not 0 < floor <= 1:
        raise EstimateError(f"floor must lie in (0, 1], is {floor}")
    for name, values in (("variance", variance), ("cost", cost)):
        for row in np.flatnonzero(~(values >= 0)):
            raise EstimateError(f"{name}[{row}] must be at least 0, is {values[row]}")
    least, most = floor * float(cost.sum()), float(cost.sum())
    if budget < least:
        raise EstimateError(f"budget must be at least {least:.1f} (floor {floor}), is {budget}")
    free = cost > 0
    if budget >= most or not free.any():
        return np.ones(len(cost))
    score = np.sqrt(np.divide(variance, cost, out=np.ones(len(cost)), where=free))
    score = np.maximum(score, 1e-12)
    low, high = 0.0, 1.0 / float(score[free].min())
    for _ in range(200):
        scale = (low + high) / 2
        spent = float((np.clip(scale * score, floor, 1) * cost).sum())
        low, high = (scale, high) if spent < budget else (low, scale)
    return np.where(free, np.clip(high * score, floor, 1), 1.0)


def draw_options(propensities: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one option per item with its propensities; −1 (ask nothing) with what is left of 1.

    Shape (N,). Raises `EstimateError` if a row sums to more than 1.
    """
    cumulative = np.cumsum(propensities, axis=1)
    for row in np.flatnonzero(cumulative[:, -1] > 1 + 1e-9):
        raise EstimateError(f"propensities[{row}] must sum to at most 1, sum to {cumulative[row, -1]}")
    total = np.where(np.abs(cumulative[:, -1] - 1) < 1e-9, np.inf, cumulative[:, -1])
    u = rng.random(len(propensities))
    option = (u[:, None] >= cumulative).sum(axis=1)
    last = propensities.shape[1] - 1 - np.argmax(propensities[:, ::-1] > 0, axis=1)
    return np.where(u < total, np.minimum(option, last), -1)


def disagreement(predicted: ArrayLike) -> NDArray[np.bool_]:
    """Items on which not all models predict the same option; elsewhere every difference is 0.

    Shape (N,). Two unreadable predictions agree: both are wrong.
    """
    columns = np.asarray(predicted, dtype=np.int64)
    differ: NDArray[np.bool_] = (columns != columns[:, :1]).any(axis=1)
    return differ


RESOLUTION_ASSUMPTIONS = (
    "each item's predicted options were asked about until one was confirmed or all refuted",
    "experts answer without error",
    "no model has seen the experts' answers",
)


def next_option(
    predicted: Sequence[int],
    posterior: Sequence[float] | FloatArray,
    answers: Mapping[int, bool],
    abstained: Collection[int] = (),
) -> int | None:
    """One step of the sequence for one item: the option to ask about, or None if nothing is left.

    Parameters
    ----------
    predicted
        Every model's option, −1 for unreadable.
    posterior
        Length K; ties are broken by the number of models, then by the lower option.
    answers
        Option → yes (True) or no (False), so far.
    abstained
        Options whose expert did not say; they are not asked about again.

    Raises
    ------
    EstimateError
        If an option lies outside 0..K−1 or two options were confirmed.
    """
    K = len(posterior)
    for option in (*answers, *(p for p in predicted if p != -1)):
        if not 0 <= option < K:
            raise EstimateError(f"option must lie in 0..{K - 1}, is {option}")
    if true_option(answers, K) is not None:
        return None
    open_options = {p for p in predicted if p != -1} - set(answers) - set(abstained)
    # the last digits differ between processors, which may not show in what is asked
    likely = [round(float(p), 9) for p in posterior]
    return min(open_options, key=lambda k: (-likely[k], -predicted.count(k), k), default=None)


def true_option(answers: Mapping[int, bool], K: int) -> int | None:
    """The true option if the answers tell: the confirmed one, or the only one not refuted.

    Raises
    ------
    EstimateError
        If two options were confirmed, or all K refuted: an expert erred.
    """
    confirmed = [k for k, yes in answers.items() if yes]
    if len(confirmed) > 1:
        raise EstimateError(f"exactly one option is true, but {sorted(confirmed)} were all confirmed")
    if confirmed:
        return confirmed[0]
    left = set(range(K)) - set(answers)
    if not left:
        raise EstimateError(f"exactly one option is true, but all {K} were refuted")
    return left.pop() if len(left) == 1 else None


def correctness(predicted: Sequence[int], answers: Mapping[int, bool], K: int) -> IntArray:
    """Every model's 1 (right), 0 (wrong) or `UNKNOWN` on one item, shape (M,).

    A model is wrong if its option was refuted, another was confirmed, or it named none.
    """
    truth = true_option(answers, K)
    if truth is not None:
        return np.array([int(p == truth) for p in predicted], dtype=np.int64)
    known = [0 if p == -1 or p in answers else UNKNOWN for p in predicted]
    return np.array(known, dtype=np.int64)


def asking_order(
    predicted: ArrayLike, posterior: FloatArray, n_options: ArrayLike | None = None
) -> tuple[IntArray, BoolArray]:
    """Options by turn, shape (N, K), and where a turn has a question: the K-th is known by elimination."""
    width = posterior.shape[1]
    counts = predicted_counts(predicted, width)
    order = np.lexsort((-counts, -np.where(counts > 0, posterior, -1.0)), axis=1)
    k = np.broadcast_to(np.asarray(width if n_options is None else n_options), len(order))
    asked = (np.take_along_axis(counts, order, axis=1) > 0) & (np.arange(width) < k[:, None] - 1)
    return order, asked


def expected_questions(
    predicted: ArrayLike, posterior: FloatArray, n_options: ArrayLike | None = None
) -> FloatArray:
    """E[T] = Σ_j (1 − Σ_{i<j} p_(i)): questions to resolve each item, if p is right; shape (N,).

    The j-th predicted option is asked about unless an earlier one was confirmed.
    """
    order, asked = asking_order(predicted, posterior, n_options)
    p = np.take_along_axis(posterior, order, axis=1)
    cost: FloatArray = np.where(asked, np.clip(1 - np.cumsum(p, axis=1) + p, 0, 1), 0.0).sum(axis=1)
    return cost


def questions_asked(
    predicted: ArrayLike, posterior: FloatArray, truth: ArrayLike, n_options: ArrayLike | None = None
) -> IntArray:
    """How many questions each item takes when the truth is known; shape (N,). For simulations."""
    order, asked = asking_order(predicted, posterior, n_options)
    hit = order == np.asarray(truth, dtype=np.int64)[:, None]
    number: IntArray = (asked & (np.cumsum(hit, axis=1) - hit == 0)).sum(axis=1)
    return number


def optimal_constant(
    c: FloatArray, propensities: FloatArray, posterior: FloatArray, valid: NDArray[np.bool_]
) -> FloatArray:
    """C* = Σ_k (c_k s_k/π_k) / Σ_k (s_k/π_k), s_k = p_k(1 − p_k): the C of least variance, shape (N,).

    All arguments have shape (N, K); ``valid`` marks the options of each item.
    Derivation: with one question, Var(g | x) = Σ_k (c_k − C)² s_k/π_k, a weighted sum of squares
    around C. An option that is never asked about (π_k = 0) must have c_k = C, which then fixes C.

    Raises
    ------
    NotIdentified
        If options that are never asked about differ in c: no number of such answers tells θ.
    """
    fixed = fix_constant(c, valid & (propensities <= 0))
    pi = np.where(propensities > 0, propensities, np.inf)
    s = posterior * (1 - posterior)
    # Where the posterior is certain every weight is 0; any C is unbiased, so weigh by 1/π alone.
    s = np.where((s / pi).sum(axis=1, keepdims=True) > 0, s, 1.0) * valid
    weight = s / pi
    total = weight.sum(axis=1)
    free: FloatArray = np.divide((c * weight).sum(axis=1), total, out=np.zeros(len(c)), where=total > 0)
    return np.where(np.isnan(fixed), free, fixed)


def item_variance(c: FloatArray, propensities: FloatArray, posterior: FloatArray) -> FloatArray:
    """Var(g | x) = Σ_k (c_k − C*)² s_k/π_k of one question per item, shape (N,); for planning.

    For an accuracy this is [π_ŷ/s_ŷ + 1/Σ_{j≠ŷ}(s_j/π_j)]⁻¹. Raises `NotIdentified` as
    `optimal_constant` does.
    """
    constant = optimal_constant(c, propensities, posterior, np.ones(c.shape, dtype=np.bool_))
    pi = np.where(propensities > 0, propensities, np.inf)
    variance: FloatArray = ((c - constant[:, None]) ** 2 * posterior * (1 - posterior) / pi).sum(axis=1)
    return variance
