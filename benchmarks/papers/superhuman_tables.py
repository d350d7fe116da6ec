"""Tables 1 to 3 of "Humanly Certifying Superhuman Classifiers": assumptions, bounds and scores.

Tables are numbered as in the ICLR 2023 version (001). The earlier version (000) has Tables 1, 2, 3 and 5 as
its Tables 2, 3, 4 and 1. It lacks Tables 4 and 6 and Appendix B.
"""

from __future__ import annotations

import itertools

from benchmarks.papers.numbers import FORMULA, Claim, Findings, Missing, Number, Row, Settings
from oversight.harness.panel import assess_superhuman_from_counts

SETS = {"SST-5": (0.660, 2210, 3, 5), "SST-2": (0.939, 1821, 3, 2), "SNLI": (0.879, 10000, 5, 3)}
"""Data set → U(e), and numbers of items, annotators and classes (Tables 2 and 5)."""
U_T = {"SST-5": "0.790", "SST-2": "0.960", "SNLI": "0.904"}
MODELS = {
    ("SST-5", "CNN-LSTM"): (0.492, ""), ("SST-5", "Constituency Tree-LSTM"): (0.510, ""),
    ("SST-5", "BERT-large"): (0.555, ""), ("SST-5", "RoBERTa+Self-Explaining"): (0.591, ""),
    ("SST-2", "CNN-LSTM"): (0.878, ""), ("SST-2", "Constituency Tree-LSTM"): (0.880, ""),
    ("SST-2", "BERT-large"): (0.949, "†"), ("SST-2", "StructBERT"): (0.971, "‡"),
    ("SNLI", "BiLSTM"): (0.855, ""), ("SNLI", "Tree-CNN"): (0.821, ""),
    ("SNLI", "LM-Pretrained Transformer"): (0.899, "†"), ("SNLI", "SemBERT"): (0.919, "‡"),
}  # fmt: skip
"""(Data set, model) → L, and its mark: † if L is above U(e), ‡ if it is also above U(t). The marks are those
of version 000, because the text of 001 lacks them."""
SCORES = {
    ("SST-2", "BERT-large"): ("< 0", "< 0"),
    ("SST-2", "StructBERT"): ("0.4730", "0.6208"),
    ("SNLI", "LM-Pretrained Transformer"): ("0.8482", "0.9267"),
    ("SNLI", "SemBERT"): ("0.9997", "0.9999"),
}
KAPPA = {"Color": ("0.6040", "0.6036", "0.5819"), "Shape": ("0.2386", "0.2372", "0.2330")}
"""Mean of Cohen's κ, Fleiss' κ and Krippendorff's α for 100 images and 10 annotators (Table 6)."""
RIGHT = {"Color": (0.850, 0.836), "Shape": (0.586, 0.542)}
"""P(ℓ_i = ℓ* | ℓ_j = ℓ*) and P(ℓ_i = ℓ*) (Table 1a)."""
WHERE_WRONG = {
    "Color M(w)": ("1.000", "0.000"), "Color M(s)": ("1.000", "0.000"),
    "Shape M(w)": ("0.579", "0.421"), "Shape M(s)": ("0.895", "0.105"),
}  # fmt: skip
"""P(model right) and P(model wrong) on images whose aggregate label is wrong (Table 1b)."""


def bounds(_settings: Settings) -> Findings:
    """Recompute U(t) of Table 2 from U(e), and check the marks † and ‡ of models above U(e) and U(t)."""
    rows, wrong = [], []
    for name, (U_e, N, m, C) in SETS.items():
        found = assess_superhuman_from_counts(0.5, U_e, N, m, C)
        numbers = (Number(printed=U_T[name], value=found.U_t),)
        rows.append(Row(place=f"Table 2, U(t), {name}", numbers=numbers, basis=FORMULA))
        for (task, model), (L, mark) in MODELS.items():
            beaten = "‡" if found.U_t < L else "†" if found.U_e < L else ""
            wrong += [model] if task == name and beaten != mark else []
    claim = Claim(
        place="Table 2",
        says="† marks models above U(e), ‡ those above U(t)",
        found=f"of {len(MODELS)} models {len(MODELS) - len(wrong)} are marked so",
        holds=not wrong,
    )
    missing = (
        Missing(
            place="Table 2, U(e)", count=3, why="from ratings of SST and SNLI, not printed; taken as given"
        ),
        Missing(place="Table 2, L", count=len(MODELS), why="accuracies from other papers; taken as given"),
        Missing(place="Table 5, items, classes, annotators", count=9, why="settings, not results"),
    )
    return Findings(rows=tuple(rows), claims=(claim,), missing=missing)


def scores(_settings: Settings) -> Findings:
    """Recompute HMS and OMS of Table 3, with the range that the rounding of the inputs allows."""
    rows, table = [], []
    for (name, model), printed in SCORES.items():
        L, (U_e, N, m, C) = MODELS[name, model][0], SETS[name]
        found = assess_superhuman_from_counts(L, U_e, N, m, C)
        assert found.hms is not None
        assert found.oms is not None
        assert found.oms_exact is not None
        numbers = tuple(
            Number(printed=p, value=v) for p, v in zip(printed, (found.hms, found.oms), strict=True)
        )
        rows.append(Row(place=f"Table 3, {model}, HMS and OMS", numbers=numbers, basis=FORMULA))
        near = [
            assess_superhuman_from_counts(L + a, U_e + b, N, m, C).oms or 0.0
            for a, b in itertools.product((-0.0005, 0.0, 0.0005), repeat=2)
        ]
        table.append(
            (
                model,
                f"{found.oms_exact:.4f}",
                f"{min(near):.3f} to {max(near):.3f}",
                *(f"{found.against[u].confidence:.5f}" for u in ("U_e", "U_t", "U_panel")),
            )
        )
    header = (
        "model",
        "OMS at its optimum",
        "OMS for inputs that print alike",
        "confidence against U(e)",
        "against U(t)",
        "against U(p)",
    )
    local = assess_superhuman_from_counts(0.960, 0.939, 1821, 3, 2)
    assert local.oms is not None
    assert local.oms_exact is not None
    claim = Claim(
        place="Algorithm 2",
        says="gradient ascent gives a locally optimal score",
        found=f"where HMS is negative it stays there: L = .960, U(e) = .939 give {local.oms:.2f}, best is "
        f"{local.oms_exact:.2f}",
        holds=abs(local.oms - local.oms_exact) < 0.005,
    )
    return Findings(rows=tuple(rows), claims=(claim,), table=(header, *table))


def assumptions(_settings: Settings) -> Findings:
    """Check those numbers and claims of Table 1 that can be checked without the annotations."""
    rows = tuple(
        Row(
            place=f"Table 1b, {name}, wrong",
            numbers=(Number(printed=wrong, value=1 - float(right)),),
            basis=FORMULA,
        )
        for name, (right, wrong) in WHERE_WRONG.items()
    )
    shares = [n for n in range(1, 101) if all(_whole(x, n) for x in ("0.579", "0.895"))]
    first = all(given >= plain for given, plain in RIGHT.values())
    second = all(float(right) >= float(wrong) for right, wrong in WHERE_WRONG.values())
    claims = (
        Claim(
            place="RQ2, Table 1a", says="assumption 1 holds", found=".850 ≥ .836, .586 ≥ .542", holds=first
        ),
        Claim(
            place="RQ2, Table 1b",
            says="assumption 2 holds, also summed over all wrong labels",
            found="in all four rows",
            holds=second,
        ),
        Claim(
            place="Table 1b",
            says="shares of the images whose aggregate is wrong, of 100",
            found=f"11 and 17 of 19 print .579 and .895, as do shares of "
            f"{', '.join(map(str, shares[1:]))}; no "
            "other number of images does",
            holds=19 in shares,
        ),
    )
    lost = Missing(place="Table 1, other numbers", count=8, why="the annotations were not published")
    return Findings(rows=rows, claims=claims, missing=(lost,))


def _whole(printed: str, n: int) -> bool:
    return f"{round(float(printed) * n) / n:.3f}" == printed
