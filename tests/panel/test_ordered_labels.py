"""Agreement of labels that have an order: numbers, words whose order is given, and very many of either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.harness.cli.main import main
from oversight.harness.panel import krippendorff_alpha, make_panel, measure_agreement, parse_number

Oversight = Callable[..., dict[str, Any]]
GRADES = ("poor", "fair", "good")
PAIRS = (("poor", "fair"), ("fair", "fair"), ("good", "fair"), ("good", "good"), ("poor", "poor"))


def write_pairs(path: Path, pairs: Sequence[tuple[object, object]]) -> Path:
    rows = [
        f'{j},{who},"{label}"' for j, pair in enumerate(pairs) for who, label in zip("ab", pair, strict=True)
    ]
    path.write_text("item,annotator,label\n" + "\n".join(rows) + "\n")
    return path


def test_numbers_stand_in_their_numeric_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    for order in (["8", "9", "10", "11"], ["-2", "-1", "0", "1.5"], ["−3", "−1", "+2", "1e2"]):
        lowest, low, high, top = order
        pairs = [(top, high), (low, lowest), (lowest, lowest), (high, top), (top, top), (low, low)]
        write_pairs(tmp_path / "r.csv", pairs)
        words = ("panel", "agree", "r.csv", "--measurement", "ordinal")
        found, given = oversight(*words), oversight(*words, f"--classes={','.join(order)}")
        assert found["alpha"]["value"] == pytest.approx(given["alpha"]["value"], abs=1e-12)


def test_equal_numbers_are_tied() -> None:
    pairs = [("1", "1.0"), ("2", "2.00"), ("10", "1e1"), ("1", "2"), ("10", "10")]
    alike = [tuple(str(float(x)) for x in pair) for pair in pairs]

    def value(rows: Sequence[tuple[str, ...]], level: str) -> float:
        ratings = [
            ov.Rating(str(j), w, x) for j, row in enumerate(rows) for w, x in zip("ab", row, strict=True)
        ]
        alpha = ov.agree(ratings, measurement=level, bootstrap=0).alpha
        assert alpha is not None
        return alpha.value

    for level in ("ordinal", "interval", "ratio"):
        assert value(pairs, level) == pytest.approx(value(alike, level))


def test_words_without_an_order_are_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["panel", "agree", "r.csv", "--measurement", "ordinal"]
    for labels in (GRADES, ("1 star", "2 stars", "3 stars"), ("1,5", "2,5", "3,5"), ("1", "2", "none")):
        write_pairs(
            tmp_path / "r.csv", [(labels[0], labels[1]), (labels[2], labels[1]), (labels[0], labels[0])]
        )
        assert main(words) == 2
        told = capsys.readouterr().err
        assert "--classes low,medium,high" in told
        assert repr(labels[-1]) in told
        quoted = ",".join(f'"{label}"' for label in labels)
        assert oversight(*words, "--classes", quoted)["alpha"]["value"] > -1
    write_pairs(tmp_path / "r.csv", PAIRS)
    for given, what in (
        ("poor,good", "'fair' is not a class"),
        ("poor,fair,good,poor", "one is given twice: 'poor'"),
    ):
        assert main([*words, "--classes", given]) == 2
        assert what in capsys.readouterr().err
    assert main([*words, "--classes", "poor,fair,good"]) == 0
    assert "order of the classes: poor < fair < good" in capsys.readouterr().out


def test_python_refuses_words_and_takes_an_order() -> None:
    ratings = [
        ov.Rating(str(j), w, x) for j, pair in enumerate(PAIRS) for w, x in zip("ab", pair, strict=True)
    ]
    with pytest.raises(
        ov.BadInput, match="measurement 'ordinal': labels must be numbers or have a given order"
    ):
        ov.agree(ratings, measurement="ordinal")
    with pytest.raises(ov.EstimateError, match="'fair' is not a number"):
        measure_agreement(make_panel(ratings), "ordinal")
    ordered = ov.agree(ratings, measurement="ordinal", classes=GRADES)
    assert ov.agree(make_panel(ratings), measurement="ordinal", classes=GRADES) == ordered
    assert measure_agreement(make_panel(ratings, GRADES), "ordinal") == ordered
    with pytest.raises(ov.EstimateError, match="the label 'good' is no class"):
        ov.agree(make_panel(ratings), measurement="ordinal", classes=GRADES[:2])


@pytest.mark.parametrize(
    ("text", "number"),
    [("٣", 3), ("1_000", None), ("nan", None), ("inf", None), ("1e999", None), ("5²", None), (".5", 0.5)],
)
def test_numbers_are_read_as_people_write_them(text: str, number: float | None) -> None:
    assert parse_number(text) == number


def test_thousands_of_labels_take_little_and_the_table_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    sliders = rng.uniform(0, 100, 1200)
    write_pairs(
        tmp_path / "r.csv",
        [(f"{x:.5f}", f"{x + e:.5f}") for x, e in zip(sliders, rng.uniform(0, 9, 1200), strict=True)],
    )
    for level in ("nominal", "ordinal", "interval", "ratio"):
        words = ["panel", "agree", "r.csv", "--measurement", level, "--svg", "a.svg"]
        assert main(words) == 0
        said = capsys.readouterr().out
        assert len(said.splitlines()) < 60
        found = oversight(*words)
        left = len(found["categories"]) - 20
        assert left > 2300
        assert f"--json prints {left:,} more classes" in said
        assert found["alpha"]["low"] < found["alpha"]["value"] < found["alpha"]["high"]
    assert len((tmp_path / "a.svg").read_text()) < 500_000
    shown = ov.agree("r.csv", bootstrap=0).html_tables()[0]
    assert len(shown.rows) < 40
    assert f"{left:,} more classes are in records()" in shown.notes


def alpha_by_tables(votes: np.ndarray[Any, Any], level: str, values: np.ndarray[Any, Any]) -> float:
    """The definition: coincidences and distances of all pairs of classes."""
    m = votes.sum(axis=1)
    v = votes[m >= 2].astype(float)
    share = 1 / (m[m >= 2] - 1)
    o = (v * share[:, None]).T @ v - np.diag((v * share[:, None]).sum(axis=0))
    n_c = o.sum(axis=1)
    middle = np.cumsum(n_c) - n_c / 2
    x = middle if level == "ordinal" else values
    delta = (x[:, None] - x) ** 2
    if level == "nominal":
        delta = 1.0 - np.eye(len(x))
    elif level == "ratio":
        delta = delta / np.maximum(values[:, None] + values, 1e-100) ** 2
    return float(1 - (n_c.sum() - 1) * (o * delta).sum() / (n_c @ delta @ n_c))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_sums_give_what_the_definition_gives(level: str) -> None:
    rng = np.random.default_rng(9)
    scales: tuple[Any, ...] = (
        np.arange(6.0),
        np.sort(10 ** rng.uniform(-8, 8, 40)),
        1e6 + np.arange(30.0),
        np.array([0.0, 1e-7]),
    )
    for values in scales:
        votes = (
            rng.poisson(3 / len(values), (50, len(values)))
            + np.eye(len(values), dtype=int)[rng.integers(len(values), size=50)]
        )
        found = krippendorff_alpha(votes, level, values=values).value
        assert found == pytest.approx(alpha_by_tables(votes, level, values), rel=1e-6, abs=1e-9)
