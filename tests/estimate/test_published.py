"""The paper's printed numbers, recomputed digit by digit from integer counts.

The counts are *inferred*: the three runs behind a table column were recovered as the integers that
reproduce all its printed digits (mean, deviation over runs, mean within-run standard error). They
are not published data. Source of the digits: "Towards Scalable Oversight via Partitioned Human
Supervision", Tables 1 and 2, Figure 2 and the ablation text.
"""

from __future__ import annotations

import statistics

import pytest

from benchmarks.papers.partitioned_maths import matching_sample_size, optimal_weight
from oversight.harness.estimate import estimate_counts

Row = tuple[str, str, str]

GPQA = (4, 120, 360, (75, 77, 79), (42, 39, 40))
MATH_COT = (5, 300, 1200, (252, 256, 256), (44, 54, 62))
EDINET = (16, 31, 465, (4, 7, 7), (28, 25, 30))


def digits(values: list[float], errors: list[float | None]) -> Row:
    """Mean, deviation over runs and mean standard error in points, as the tables print them."""
    known = [e for e in errors if e is not None]
    assert len(known) == len(errors)
    numbers = (statistics.mean(values), statistics.stdev(values), statistics.mean(known))
    return (f"{100 * numbers[0]:.2f}", f"{100 * numbers[1]:.2f}", f"{100 * numbers[2]:.2f}")


@pytest.mark.parametrize(
    ("column", "estimator", "printed"),
    [
        (GPQA, "ord", ("64.17", "1.67", "4.39")),
        (GPQA, "ivw_half", ("65.28", "1.34", "3.33")),
        (GPQA, "ivw", ("65.14", "1.38", "3.30")),
        (GPQA, "ml", ("65.11", "1.38", "3.28")),
        (MATH_COT, "ord", ("84.89", "0.77", "2.07")),
        (MATH_COT, "ivw_half", ("83.56", "1.17", "1.58")),
        (MATH_COT, "ivw", ("83.86", "0.83", "1.56")),
        (MATH_COT, "ml", ("83.65", "1.04", "1.59")),
        (EDINET, "ord", ("19.35", "5.59", "7.13")),
        (EDINET, "comp", ("10.75", "8.12", "16.46")),
        (EDINET, "ivw_half", ("15.05", "5.18", "8.98")),
        (EDINET, "ivw", ("17.95", "4.88", "6.53")),
        (EDINET, "ml", ("17.93", "4.87", "6.29")),
    ],
)
def test_published_table_rows_are_reproduced(
    column: tuple[int, int, int, tuple[int, ...], tuple[int, ...]], estimator: str, printed: Row
) -> None:
    K, n_o, n_c, right, violations = column
    runs = [
        estimate_counts(K, S_o, n_o, n_c - V, n_c, published=True)[estimator]
        for S_o, V in zip(right, violations, strict=True)
    ]
    assert digits([r.value for r in runs], [r.se for r in runs]) == printed


@pytest.mark.parametrize(
    ("K", "n", "violations", "printed"),
    [
        (10, 300, (3, 9, 11), ("77.00", "12.49", "7.95")),  # MMLU-Pro
        (4, 300, (6, 7, 9), ("92.67", "1.53", "2.67")),  # MedQA-USMLE
        (4, 120, (15, 16, 18), ("59.17", "3.82", "9.42")),  # GPQA
        (5, 300, (34, 34, 48), ("48.44", "10.78", "7.72")),  # MATH
        (5, 300, (13, 14, 17), ("80.44", "2.78", "4.98")),  # MATH (CoT)
    ],
)
def test_published_rows_of_complementary_labels_are_reproduced(
    K: int, n: int, violations: tuple[int, ...], printed: Row
) -> None:
    runs = [estimate_counts(K, 0, 0, n - V, n, published=True)["comp"] for V in violations]
    assert digits([r.value for r in runs], [r.se for r in runs]) == printed


def test_published_errors_are_over_n_minus_1() -> None:
    """The digits tell n − 1 from n: GPQA Ord prints 4.39, where n gives 4.37 or 4.38."""
    runs = [estimate_counts(4, S_o, 120, 0, 0)["ord"].se or 0.0 for S_o in GPQA[3]]
    assert f"{100 * statistics.mean(runs):.2f}" != "4.39"


def test_published_ml_error_mixes_ml_and_raw_share() -> None:
    """The corrected error, from A_ML in both terms, prints other digits for GPQA."""
    runs = [estimate_counts(4, S, 120, 360 - V, 360)["ml"].se or 0.0 for S, V in zip(*GPQA[3:], strict=True)]
    assert f"{100 * statistics.mean(runs):.2f}" != "3.28"


@pytest.mark.parametrize(
    ("K", "A", "n_o", "n_c"),
    [
        (10, 0.7797, 300, 3378),
        (4, 0.9266, 300, 948),
        (4, 0.5952, 120, 523),
        (5, 0.4421, 300, 2336),
        (5, 0.8389, 300, 1373),
    ],
)
def test_published_matching_sizes_are_reproduced(K: int, A: float, n_o: int, n_c: int) -> None:
    """Rows "Comp-Var": Eq. 5 at the accuracy on all labels, rounded."""
    assert round(matching_sample_size(K, A, n_o)) == n_c


@pytest.mark.parametrize(
    ("ratio", "weight"), [(1, ".760"), (2, ".612"), (3, ".513"), (6, ".345"), (20, ".136")]
)
def test_weights_of_figure_2_are_reproduced(ratio: int, weight: str) -> None:
    """MedQA, A = .9266; the digits are Eq. 8's, the figure shows the curve."""
    assert f"{optimal_weight(4, 0.9266, 300, 300 * ratio):.3f}".lstrip("0") == weight


@pytest.mark.parametrize("K", [3, 4, 10])
def test_weight_spans_one_half_to_one(K: int) -> None:
    """Ablation text: at n_c = (K − 1) n_o the best weight falls from 1 at A = 0 to 1/2 at A = 1."""
    weights = [optimal_weight(K, A / 10, 100, 100 * (K - 1)) for A in range(11)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(1.0)
    assert weights[-1] == pytest.approx(0.5)
