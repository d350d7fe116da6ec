"""Table 6 and Appendix B of the superhuman paper (only in its later version)."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.numbers import FORMULA, Claim, Findings, Missing, Number, Row, Settings
from benchmarks.papers.superhuman_tables import KAPPA
from oversight.harness.analysis import agree
from oversight.harness.panel.ratings import make_panel_from_grid

ALPHA_NOTE = (
    "complete nominal ratings give 1 − (1 − κ)(1 − 1/(100 · 10)), which is above κ; printed is less than κ. "
    "Either α is of other labels (with missing ones, or another level of measurement), or wrong"
)


def agreement(_settings: Settings) -> Findings:
    """Compute α in Table 6 from Fleiss' κ, which determines α if all ratings are complete."""
    rows = []
    for name, (_, fleiss, alpha) in KAPPA.items():
        rows.append(
            Row(
                place=f"Table 6, Krippendorff's α, {name}",
                numbers=(Number(printed=alpha, value=1 - (1 - float(fleiss)) * (1 - 1 / (100 * 10))),),
                basis=FORMULA,
                note="complete nominal ratings give 1 − (1 − κ)(1 − 1/(100 · 10)), which is above κ; "
                "printed is less "
                "than κ. Either α is of other labels (with missing ones, or another level of measurement), "
                "or wrong",
            )
        )
    rng = np.random.default_rng(0)
    grid = np.where(
        rng.random((100, 10)) < 0.6, rng.integers(3, size=(100, 1)), rng.integers(3, size=(100, 10))
    )
    found = agree(make_panel_from_grid(grid, ["0", "1", "2"], [str(j) for j in range(10)]), bootstrap=0)
    assert found.alpha is not None
    assert found.fleiss is not None
    off = abs(found.alpha.value - (1 - (1 - found.fleiss) * (1 - 1 / 1000)))
    claims = (
        Claim(
            place="Table 6",
            says="α and Fleiss' κ of one complete set of labels",
            found=f"on simulated labels `ov.agree` gives α and κ tied to {off:.0e}; printed pairs are not",
            holds=False,
        ),
        Claim(
            place="Section 3.1",
            says="U² is proportional to Cohen's κ",
            found="κ = (U² − P_e)/(1 − P_e): a straight line, but not through 0",
            holds=False,
        ),
    )
    lost = Missing(place="Table 6, Cohen's and Fleiss' κ", count=4, why="the annotations were not published")
    return Findings(rows=tuple(rows), claims=claims, missing=(lost,))


def appendix_b(_settings: Settings) -> Findings:
    """Recompute Appendix B and Table 4, a joint distribution that three numbers determine."""
    right, given_right, given_wrong = 0.7, 0.8, 0.6
    both, first = right * given_right, right * (1 - given_right)
    second, neither = (1 - right) * given_wrong, (1 - right) * (1 - given_wrong)
    b = both + second
    lines: tuple[tuple[str, tuple[tuple[str, float], ...], str], ...] = (
        (
            "Table 4, complements",
            (("0.2", 1 - given_right), ("0.4", 1 - given_wrong), ("0.3", 1 - right)),
            "",
        ),
        ("P(b right)", (("0.74", b), ("0.56", both), ("0.18", second)), ""),
        ("P(b wrong)", (("0.26", 1 - b), ("0.14", first), ("0.12", neither)), ""),
        (
            "P(b wrong | a wrong)",
            (("0.30", neither / (1 - right)),),
            "0.40 by the paper's own Table 4a; the inequality holds either way",
        ),
        ("P(a right | b right)", (("0.757", both / b),), ""),
        ("P(a wrong | b wrong)", (("0.462", neither / (1 - b)),), ""),
        ("P(a right | b wrong)", (("0.538", first / (1 - b)),), ""),
    )
    rows = tuple(
        Row(
            place=f"Appendix B, {name}",
            numbers=tuple(Number(printed=p, value=v) for p, v in numbers),
            basis=FORMULA,
            note=note,
        )
        for name, numbers, note in lines
    )
    holds = both / b >= right and b <= given_right and first / (1 - b) >= neither / (1 - b)
    claim = Claim(
        place="Appendix B",
        says="both assumptions can hold together, for a and for b",
        found="all six inequalities hold",
        holds=holds and given_wrong >= 1 - given_wrong,
    )
    return Findings(rows=rows, claims=(claim,))
