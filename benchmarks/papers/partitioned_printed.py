"""Printed numbers of "Towards Scalable Oversight via Partitioned Human Supervision", and recovered counts.

The paper prints no counts. `Column` contains counts of three runs per column that reproduce all or nearly all
printed digits; `partitioned_counts` repeats the search for them.
"""

from __future__ import annotations

from dataclasses import dataclass

Cell = tuple[str, str, str]
"""Mean and standard deviation over three runs, and mean standard error of a run, in points."""

TABLE_1: dict[str, dict[str, Cell]] = {
    "MMLU-Pro": {
        "Ord": ("78.33", "1.73", "2.38"), "Comp-n_o": ("77.00", "12.49", "7.95"),
        "Comp-Var": ("75.67", "2.15", "2.51"), "IVW-0.5": ("77.89", "1.58", "1.80"),
        "IVW": ("77.97", "1.58", "1.79"), "ML": ("77.94", "1.58", "1.79"),
    },
    "MedQA-USMLE": {
        "Ord": ("92.89", "1.35", "1.48"), "Comp-n_o": ("92.67", "1.53", "2.67"),
        "Comp-Var": ("90.61", "1.43", "1.69"), "IVW-0.5": ("91.61", "1.11", "1.15"),
        "IVW": ("91.86", "1.11", "1.13"), "ML": ("91.65", "1.08", "1.18"),
    },
    "GPQA": {
        "Ord": ("64.17", "1.67", "4.39"), "Comp-n_o": ("59.17", "3.82", "9.42"),
        "Comp-Var": ("63.67", "5.01", "4.28"), "IVW-0.5": ("65.28", "1.34", "3.33"),
        "IVW": ("65.14", "1.38", "3.30"), "ML": ("65.11", "1.38", "3.28"),
    },
    "MATH": {
        "Ord": ("47.56", "3.91", "2.88"), "Comp-n_o": ("48.44", "10.78", "7.72"),
        "Comp-Var": ("41.10", "3.17", "2.93"), "IVW-0.5": ("43.44", "3.95", "2.52"),
        "IVW": ("44.87", "3.82", "2.37"), "ML": ("44.75", "3.79", "2.36"),
    },
    "MATH (CoT)": {
        "Ord": ("84.89", "0.77", "2.07"), "Comp-n_o": ("80.44", "2.78", "4.98"),
        "Comp-Var": ("81.35", "0.29", "2.28"), "IVW-0.5": ("83.56", "1.17", "1.58"),
        "IVW": ("83.86", "0.83", "1.56"), "ML": ("83.65", "1.04", "1.59"),
    },
}  # fmt: skip
AVERAGE = {
    "Ord": "73.57", "Comp-n_o": "71.54", "Comp-Var": "70.48", "IVW-0.5": "72.36", "IVW": "72.74",
    "ML": "72.62",
}  # fmt: skip
ORD_EVAL = {
    "MMLU-Pro": "77.97",
    "MedQA-USMLE": "92.66",
    "GPQA": "59.52",
    "MATH": "44.21",
    "MATH (CoT)": "83.89",
}
CLOSEST = {
    "MMLU-Pro": "IVW",
    "MedQA-USMLE": "Comp-n_o",
    "GPQA": "Comp-n_o",
    "MATH": "ML",
    "MATH (CoT)": "IVW",
}
"""Estimator whose printed mean is nearest to Ord-Eval."""

TABLE_2: dict[str, dict[str, Cell]] = {
    "EDINET": {
        "Ord": ("19.35", "5.59", "7.13"), "Comp-(K-1)": ("10.75", "8.12", "16.46"),
        "IVW-0.5": ("15.05", "5.18", "8.98"), "IVW": ("17.95", "4.88", "6.53"),
        "ML": ("17.93", "4.87", "6.29"),
    },
    "EDINET (Extended)": {
        "Ord": ("21.67", "2.46", "2.89"), "Comp-(K-1)": ("26.60", "3.45", "5.86"),
        "IVW-0.5": ("24.14", "2.26", "3.27"), "IVW": ("22.64", "2.27", "2.59"),
        "ML": ("22.61", "2.28", "2.26"),
    },
    "Medical Abstract": {
        "Ord": ("70.38", "0.62", "0.96"), "Comp-(K-1)": ("68.79", "0.71", "1.13"),
        "IVW-0.5": ("69.58", "0.57", "0.74"), "IVW": ("69.71", "0.56", "0.73"),
        "ML": ("69.70", "0.56", "0.74"),
    },
}  # fmt: skip

FIGURE_4 = {
    ("GPQA", "ADAS"): ("47.2", "42.4"), ("GPQA", "AFlow"): ("47.2", "47.2"),
    ("Math-MC", "ADAS"): ("88.1", "84.2"), ("Math-MC", "AFlow"): ("86.5", "86.8"),
    ("Medical Abstract", "ADAS"): ("61.6", "67.8"), ("Medical Abstract", "AFlow"): ("68.5", "68.9"),
}  # fmt: skip
"""Test accuracy in per cent of searches by raw q and by its transform, from the text of Appendix H."""
TEST_ITEMS = {"GPQA": 458, "Math-MC": 800, "Medical Abstract": 800}
VALIDATION_ITEMS = {"GPQA": 88, "Math-MC": 120, "Medical Abstract": 120}
OPTIONS = {"GPQA": 4, "Math-MC": 5, "Medical Abstract": 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Recovered counts of one column.

    Attributes
    ----------
    n_o, n_c
        Number of ordinary and of complementary labels in each run.
    right
        S_o, the number of right answers, in each run.
    violations
        n_c − S_c, the number of refuted answers, in the same runs.
    few
        n_c − S_c of the row "Comp-n_o", which has only `n_o` complementary labels.
    matched, matched_violations
        n_c of the row "Comp-Var" (Eq. 5 at Ord-Eval, rounded), and its n_c − S_c.
    """

    K: int
    n_o: int
    n_c: int
    right: tuple[int, int, int]
    violations: tuple[int, int, int]
    few: tuple[int, int, int] | None = None
    matched: int = 0
    matched_violations: tuple[int, int, int] | None = None


COLUMNS = {
    "MMLU-Pro": Column(K=10, n_o=300, n_c=2700, right=(229, 238, 238), violations=(71, 61, 71),
                       few=(3, 9, 11), matched=3378, matched_violations=(82, 96, 96)),
    "MedQA-USMLE": Column(K=4, n_o=300, n_c=900, right=(274, 281, 281), violations=(31, 25, 31),
                          few=(6, 7, 9), matched=948, matched_violations=(25, 30, 34)),
    "GPQA": Column(K=4, n_o=120, n_c=360, right=(75, 77, 79), violations=(42, 39, 40),
                   few=(15, 16, 18), matched=523, matched_violations=(56, 61, 73)),
    "MATH": Column(K=5, n_o=300, n_c=1200, right=(134, 138, 156), violations=(193, 184, 169),
                   few=(34, 34, 48), matched=2336, matched_violations=(323, 351, 358)),
    "MATH (CoT)": Column(K=5, n_o=300, n_c=1200, right=(252, 256, 256), violations=(44, 54, 62),
                         few=(13, 14, 17), matched=1373, matched_violations=(63, 64, 65)),
    "EDINET": Column(K=16, n_o=31, n_c=465, right=(4, 7, 7), violations=(28, 25, 30)),
    "EDINET (Extended)": Column(K=16, n_o=203, n_c=3045, right=(39, 44, 49), violations=(146, 157, 144)),
    "Medical Abstract": Column(K=5, n_o=2245, n_c=8980, right=(1566, 1580, 1594), violations=(716, 684, 702)),
}  # fmt: skip
