"""Repeat the design of Table 1 with public data: twenty models on the ten-option items of MMLU-Pro."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.papers.numbers import DATA, Claim, Findings, Number, Row, Settings
from benchmarks.papers.partitioned_maths import matching_sample_size
from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate import Estimates, estimate_counts
from oversight.harness.estimate.estimators import complementary_accuracy
from oversight.harness.types import fold_text

QUESTIONS, PREDICTIONS = "mmlu_pro_questions.parquet", "mmlu_pro_model_predictions.parquet"
K, N_O = 10, 300
SHOWN = {"ord": "Ord", "comp": "Comp-(K-1)", "ivw_half": "IVW-0.5", "ivw": "IVW", "ml": "ML"}


def real_models(settings: Settings) -> Findings:
    """Check the size of the benchmark, and measure bias and error of every estimator on real predictions."""
    size = _count_items(settings.data)
    errors, formula = _study(settings.data, settings.draws(400, 60))
    claims, rows = [], []
    for name, row in SHOWN.items():
        means, spread = errors[name].mean(axis=1), errors[name].std(axis=1, ddof=1)
        bias, se = (
            float(means.mean()),
            float(errors[name].mean(axis=0).std(ddof=1) / errors[name].shape[1] ** 0.5),
        )
        ratio = float((spread / formula[name].mean(axis=1)).mean())
        rows.append(
            (row, f"{100 * bias:+.3f} ± {100 * se:.3f}", f"{100 * spread.mean():.2f}", f"{ratio:.3f}")
        )
        if name in ("ord", "comp", "ivw_half"):
            claims.append(Claim(place="Section 2", says=f"{row} is unbiased", found=f"bias {rows[-1][1]} "
            f"points",
                                holds=abs(bias) <= 3 * se))  # fmt: skip
    header = (
        "20 models, 300 + 2,700 labels",
        "bias, points",
        "deviation between draws",
        "over the reported error",
    )
    return Findings(rows=(size,), claims=(*claims, _matched(settings)), table=(header, *rows))


def _count_items(data: Path) -> Row:
    """Count the ten-option questions by several rules for duplicates, and compare with the paper's number."""
    import pyarrow.parquet as pq

    table = pq.read_table(data / QUESTIONS, columns=["question", "options"], use_threads=False).to_pylist()
    ten = [(row["question"], tuple(row["options"])) for row in table if len(row["options"]) == K]
    different, printed = set(ten), 9795
    kept = sum(len(set(map(fold_text, options))) == K for _, options in different)
    return Row(
        place="Section 3.1, ten-option questions of MMLU-Pro without duplicates",
        numbers=(Number(printed=str(printed), value=len(different)),),
        basis=DATA,
        note=f"{len(ten):,} with ten options, {len(different):,} different ones by question and options, "
        f"{len({q for q, _ in ten}):,} by question: another release of the set, or another rule for "
        f"duplicates. The project's preset leaves out those with an option twice, too: {kept:,}, "
        f"{kept - printed:+}",
    )


def _matched(settings: Settings) -> Claim:
    """Check Eq. 5: estimates from n_c complementary and 300 ordinary labels have equal variances."""
    ratios = []
    truth, models = load(settings.data)
    for number, option in enumerate(models.values()):
        right = option == truth
        n_c = round(matching_sample_size(K, float(right.mean()), N_O))
        rng, found = np.random.default_rng([3, number]), []
        for _ in range(settings.draws(400, 60)):
            ordinary = right[rng.integers(len(right), size=N_O)].mean()
            passed = right[rng.integers(len(right), size=n_c)] | (rng.random(n_c) >= 1 / (K - 1))
            found.append((ordinary, complementary_accuracy(K, int(passed.sum()), n_c)))
        spread = np.array(found).std(axis=0, ddof=1)
        ratios.append(float(spread[1] / spread[0]))
    mean, se = float(np.mean(ratios)), float(np.std(ratios, ddof=1) / len(ratios) ** 0.5)
    return Claim(
        place="Eq. 5",
        says="so many complementary labels have the variance of n_o ordinary ones",
        found=f"ratio of the two deviations, mean over 20 models: {mean:.3f} ± {se:.3f}",
        holds=abs(mean - 1) <= 3 * se,
    )


def _study(data: Path, draws: int) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Return, by estimator, the estimates' errors and their reported standard errors.

    Both dictionaries have arrays of shape (models, draws).

    An unreadable answer counts as wrong: it is replaced by a random wrong option.
    """
    truth, models = load(data)
    errors: dict[str, list[list[float]]] = defaultdict(list)
    formula: dict[str, list[list[float]]] = defaultdict(list)
    for number, option in enumerate(models.values()):
        rng = np.random.default_rng([2, number])
        A = float((option == truth).mean())
        made = [_once(truth, option, rng) for _ in range(draws)]
        for name in SHOWN:
            errors[name].append([m[name].value - A for m in made])
            formula[name].append([m[name].se or 0.0 for m in made])
    return {n: np.array(x) for n, x in errors.items()}, {n: np.array(x) for n, x in formula.items()}


def _once(truth: IntArray, option: IntArray, rng: np.random.Generator) -> Estimates:
    """Draw 300 ordinary and 2,700 complementary labels of different items, and compute all estimators."""
    picked = rng.choice(len(truth), size=N_O + (K - 1) * N_O, replace=False)
    first, rest = picked[:N_O], picked[N_O:]
    refused = (truth[rest] + rng.integers(1, K, size=len(rest))) % K
    said = np.where(option[rest] < 0, (truth[rest] + rng.integers(1, K, size=len(rest))) % K, option[rest])
    S_o = int((option[first] == truth[first]).sum())
    return estimate_counts(K, S_o, N_O, int((said != refused).sum()), len(rest), published=True)


def load(data: Path) -> tuple[IntArray, dict[str, IntArray]]:
    """Return the true options and each model's options on the ten-option items; −1 if unreadable."""
    import pyarrow.parquet as pq

    columns = pq.read_table(data / PREDICTIONS, use_threads=False).to_pydict()
    keep = [j for j, k in enumerate(columns["n_options"]) if k == K]

    def options(name: str) -> IntArray:
        letters = [columns[name][j] for j in keep]
        return np.array([ord(x) - 65 if x is not None and 0 <= ord(x) - 65 < K else -1 for x in letters])

    names = [n for n in columns if n not in ("question_id", "category", "n_options", "answer")]
    return options("answer"), {name: options(name) for name in names}
