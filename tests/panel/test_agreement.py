"""Agreement against the worked examples that its sources print."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oversight.harness import EstimateError, IntArray, NotIdentified
from oversight.harness.arrays import NO_LABEL
from oversight.harness.panel import Panel, krippendorff_alpha, measure_agreement, pairwise
from oversight.harness.panel.agreement import fleiss_kappa, gwet_ac1, pair_agreement
from oversight.harness.panel.alpha import category_alphas
from oversight.harness.panel.ratings import make_panel_from_grid

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: four observers, twelve
# units, a dot where an observer gave nothing.
EXAMPLE_C = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
# The same source, example A (binary) and B (nominal), two observers.
EXAMPLE_A = ("0100000010", "1110010000")
EXAMPLE_B = ("aabbdcccedda", "babbbccceddd")
# The standard worked example of Fleiss' kappa: 14 raters, 10 subjects, 0.210.
FOURTEEN = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def panel(rows: tuple[str, ...], classes: str) -> Panel:
    grid = np.array([[NO_LABEL if c == "." else classes.index(c) for c in row] for row in rows]).T
    return make_panel_from_grid(grid, list(classes))


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_example_c_is_reproduced_at_every_level(level: str, published: float) -> None:
    votes = panel(EXAMPLE_C, "12345").votes()
    found = krippendorff_alpha(votes, level, values=np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert round(found.value, 3) == published
    assert (found.pairable, found.items) == (40, 11)


def test_krippendorffs_examples_of_two_observers_are_reproduced() -> None:
    assert round(krippendorff_alpha(panel(EXAMPLE_A, "01").votes()).value, 3) == 0.095
    assert round(krippendorff_alpha(panel(EXAMPLE_B, "abcde").votes()).value, 3) == 0.692


def test_gwets_coefficients_with_missing_ratings_are_reproduced() -> None:
    # Gwet's handbook and package print these numbers for the same four raters and twelve units.
    votes = panel(EXAMPLE_C, "12345").votes()
    assert round(gwet_ac1(votes), 5) == 0.77544
    assert round(fleiss_kappa(votes), 5) == 0.76117
    assert round(float(np.nanmean(pair_agreement(votes))), 5) == 0.81818


def test_published_kappas_of_fleiss_and_cohen_are_reproduced() -> None:
    assert round(fleiss_kappa(np.array(FOURTEEN)), 3) == 0.210
    # Three textbook tables for Cohen's kappa: yes/yes, yes/no, no/yes, no/no.
    for cells, published in (((20, 5, 10, 15), 0.40), ((45, 15, 25, 15), 0.13), ((25, 35, 5, 35), 0.26)):
        grid = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], cells, axis=0)
        assert round(pairwise(make_panel_from_grid(grid, ["yes", "no"])).kappa[0, 1], 2) == published


@pytest.mark.parametrize("same", [[[3, 0], [2, 0]], [[0, 2, 0]]])
def test_all_ratings_alike_is_refused_but_ac1_is_one(same: list[list[int]]) -> None:
    votes = np.array(same)
    for coefficient in (krippendorff_alpha, fleiss_kappa):
        with pytest.raises(NotIdentified, match="all ratings are alike"):
            coefficient(votes)
    assert gwet_ac1(votes) == 1


def test_a_report_says_what_is_undefined() -> None:
    grid = np.array([[0, 0, 0], [0, 0, NO_LABEL]])
    report = measure_agreement(make_panel_from_grid(grid, ["a", "b"]))
    assert report.alpha is None
    assert report.fleiss is None
    assert report.ac1 == 1
    assert "0/0" in report.undefined["alpha"]
    assert report.categories == {"a": None, "b": None}


def test_missing_ratings_change_nothing_but_what_they_would_have_said() -> None:
    votes = panel(EXAMPLE_C, "12345").votes()
    lonely = np.vstack([votes, [[0, 0, 0, 1, 0], [0, 0, 0, 0, 0]]])
    assert krippendorff_alpha(lonely).value == krippendorff_alpha(votes).value


def test_two_classes_have_one_alpha() -> None:
    votes = panel(EXAMPLE_A, "01").votes()
    alphas = category_alphas(votes)
    assert alphas[0] == pytest.approx(krippendorff_alpha(votes).value)
    assert alphas[1] == pytest.approx(krippendorff_alpha(votes).value)


def test_pairwise_is_cohen_on_common_items() -> None:
    p = panel(EXAMPLE_C, "12345")
    pairs, grid = pairwise(p), p.grid()
    for a in range(4):
        for b in range(4):
            both = (grid[:, a] != NO_LABEL) & (grid[:, b] != NO_LABEL)
            assert pairs.common[a, b] == both.sum()
            same = (grid[both, a] == grid[both, b]).mean()
            p, q = (np.bincount(grid[both, rater], minlength=5) / both.sum() for rater in (a, b))
            assert pairs.agreement[a, b] == pytest.approx(same)
            assert pairs.kappa[a, b] == pytest.approx((same - p @ q) / (1 - p @ q))


@pytest.mark.parametrize("people", [6, 60])
def test_mean_of_cohen_needs_common_items(people: int) -> None:
    rng, rows = np.random.default_rng(3), np.arange(300)[:, None]
    grid = np.full((300, people), NO_LABEL)
    raters = np.argsort(rng.random((300, people)), axis=1)[:, :3]
    said = np.where(rng.random((300, 3)) < 0.95, rows % 4, rng.integers(4, size=(300, 3)))
    grid[rows, raters] = said
    found = measure_agreement(make_panel_from_grid(grid, "abcd"), bootstrap=0)
    assert found.alpha is not None
    if people == 6:
        assert found.mean_cohen == pytest.approx(found.alpha.value, abs=0.02)
    else:  # pairs have about one common item, on which κ is 0 or undefined
        assert found.mean_cohen is None
        assert found.undefined["mean_cohen"].startswith("no two annotators have 10 common items")
        assert {person.median_kappa for person in found.people} == {None}


def simulated(rng: np.random.Generator, n: int, skill: float, raters: int = 4, K: int = 3) -> IntArray:
    """Raters who copy the truth with probability `skill` and else draw uniformly: α is skill²."""
    truth = rng.integers(K, size=n)
    copies = rng.random((n, raters)) < skill
    labels = np.where(copies, truth[:, None], rng.integers(K, size=(n, raters)))
    return np.stack([(labels == c).sum(axis=1) for c in range(K)], axis=1)


@pytest.mark.statistical
def test_bootstrap_interval_covers_alpha() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for seed in range(150):
        found = krippendorff_alpha(simulated(rng, 80, 0.7), bootstrap=200, seed=seed)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.49 <= found.high
    assert 0.89 <= held / 150 <= 0.99


def test_one_seed_gives_one_interval() -> None:
    votes = simulated(np.random.default_rng(2), 50, 0.7)
    first = krippendorff_alpha(votes, bootstrap=50, seed=3)
    assert first == krippendorff_alpha(votes, bootstrap=50, seed=3)
    assert first.low != krippendorff_alpha(votes, bootstrap=50, seed=4).low


@pytest.mark.parametrize(
    ("votes", "options", "message"),
    [
        ([[1, 0], [0, 1]], {}, "no item has 2 annotators"),
        ([[2, -1]], {}, r"votes\[0\] must be at least 0"),
        ([[2, 1]], {"level": "cardinal"}, "level must be one of nominal"),
        ([[2, 1]], {"level": "ratio"}, "needs a number for every class"),
        ([[2, 1]], {"level": "ratio", "values": np.array([-1.0, 1.0])}, "at least 0 at the ratio level"),
        ([[2, 1]], {"level": "interval", "values": np.array([np.nan, 1.0])}, "2 finite numbers"),
        ([[2, 1]], {"confidence": 1.0}, r"level must lie in \(0, 1\)"),
        ([[2, 0], [0, 2]], {"bootstrap": -1}, "bootstrap must be at least 1"),
    ],
)
def test_bad_input_is_refused(votes: list[list[int]], options: dict[str, object], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        krippendorff_alpha(np.array(votes), **options)  # type: ignore[arg-type]


def test_one_annotator_is_refused() -> None:
    with pytest.raises(EstimateError, match="at least 2 annotators, there is 1: 'a0'"):
        measure_agreement(make_panel_from_grid(np.array([[0], [1]]), ["a", "b"]))


def test_bluebirds_on_real_data(datasets: Path) -> None:
    rows = np.genfromtxt(datasets / "crowd_bluebirds.csv.gz", delimiter=",", names=True, dtype=None)
    items, item = np.unique(rows["item"], return_inverse=True)
    workers, worker = np.unique(rows["worker"], return_inverse=True)
    crowd = Panel(
        items=tuple(map(str, items)),
        annotators=tuple(map(str, workers)),
        classes=("0", "1"),
        item=item,
        annotator=worker,
        label=rows["label"],
    )
    report = measure_agreement(crowd, bootstrap=200)
    assert (report.items, report.annotators, report.ratings) == (108, 39, 4212)
    assert report.alpha is not None
    assert report.alpha.low is not None
    assert report.alpha.low < report.alpha.value < (report.alpha.high or 0)
    # With two classes and no missing rating, α equals Fleiss' κ up to the correction for n ratings.
    assert report.fleiss is not None
    n = 4212
    assert report.alpha.value == pytest.approx(1 - (1 - report.fleiss) * (n - 1) / n, abs=1e-9)
