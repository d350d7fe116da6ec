"""Human-level indices: the tagging paper's numbers, ties in average precision, the whole methodology."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from oversight.harness import EstimateError, NotIdentified
from oversight.harness.estimate import holm
from oversight.harness.panel import hlpi, hlpri, human_level_choices, human_level_tagging
from oversight.harness.panel.human_level import average_precision, paired_t, sign

# "Are machines better than humans in image tagging?", Table 1: positive images, α of 18 annotators, AP
# of the two best systems.
TABLE_1 = """
airplane 77 .980 .986 .998|cat 96 .978 .955 .990|bird 101 .976 .934 .976|dog 123 .974 .947 .989
sheep 35 .970 .874 .950|cow 34 .960 .821 .943|horse 42 .959 .929 .985|bus 45 .956 .910 .959
train 55 .953 .960 .987|boat 46 .940 .922 .964|motorbike 55 .938 .921 .972|bicycle 68 .909 .860 .947
tv 63 .898 .827 .942|person 420 .895 .950 .988|car 126 .848 .836 .948|sofa 79 .796 .678 .868
bottle 93 .761 .654 .836|table 61 .737 .796 .881|chair 123 .716 .734 .904|plant 59 .668 .594 .768
"""
CELLS = np.array(
    [[float(v) for v in row.split()[1:]] for row in TABLE_1.strip().replace("\n", "|").split("|")]
)


def test_hlpri_of_both_experiments_is_reproduced_except_a_misprint() -> None:
    assert hlpri(2, 1) == 1.5  # experiment 2, as printed
    assert hlpri(9, 3) == 2.5  # the text of experiment 1 gives 2.5; the paper prints 2.4,
    assert hlpri(9 + 2, 3 + 1) == 2.4  # which is the value for both experiments together
    assert round((11 + 8) / 23, 2) == 0.83
    assert round(11 / 23, 2) == 0.48


def test_table_of_twenty_categories_is_reproduced() -> None:
    _, alpha, first, second = CELLS.T
    assert round(first.mean(), 4) == 0.8544
    assert second.mean() == pytest.approx(0.9397, abs=6e-5)
    assert round(float(np.corrcoef(alpha, first)[0, 1]), 3) == 0.880
    assert round(float(np.corrcoef(alpha, second)[0, 1]), 3) == 0.889
    assert round(alpha.mean(), 3) == 0.891  # the paper prints .913 as "overall"; pooling gives .8915
    assert (alpha < 0.8).sum() == 5


def test_the_second_system_is_better_over_the_categories() -> None:
    _, _, first, second = CELLS.T
    assert paired_t(second, first) < 1e-6
    assert paired_t(first, second) > 0.999


def test_hlpi_is_a_ratio_of_medians() -> None:
    assert hlpi([0.9, 0.8, 0.5], [0.4, 1.0, 0.7]) == pytest.approx(0.8 / 0.7)
    with pytest.raises(NotIdentified, match="must exceed 0"):
        hlpi([0.9], [-0.1])
    with pytest.raises(EstimateError, match="there are 0 machines and 1 people"):
        hlpi([], [0.5])
    with pytest.raises(EstimateError, match="at least 0, are -1 and 0"):
        hlpri(-1, 0)


def precision_of(order: tuple[int, ...]) -> float:
    hits = np.array(order)
    return float((hits * np.cumsum(hits) / np.arange(1, len(hits) + 1)).sum() / hits.sum())


def test_average_precision_equals_its_enumeration() -> None:
    relevant, tagged = (1, 0, 1, 1, 0, 0), (1, 1, 1, 0, 0, 0)
    every = [
        precision_of((*a, *b)) for a in permutations((1, 0, 1)) for b in permutations((1, 0, 0))
    ]  # all orders of the tagged and of the untagged images
    found = average_precision(relevant, tagged)
    assert found.best == pytest.approx(max(every))
    assert found.worst == pytest.approx(min(every))
    assert found.expected == pytest.approx(np.mean(every))
    everything = [precision_of(order) for order in permutations(relevant)]
    assert found.chance == pytest.approx(np.mean(everything))
    assert found.delta == pytest.approx(np.mean(every) - np.mean(everything))


def test_average_precision_without_ties_is_the_plain_one() -> None:
    found = average_precision([0, 1, 0, 1], [0.9, 0.8, 0.2, 0.1])
    assert found.best == found.worst == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert found.expected == pytest.approx(found.best)


def test_chance_is_near_the_share_of_relevant_ones() -> None:
    relevant = np.zeros(2000)
    relevant[:200] = 1
    assert average_precision(relevant, np.zeros(2000)).chance == pytest.approx(0.1, abs=0.004)
    assert average_precision(relevant, relevant).best == 1


@pytest.mark.parametrize(
    ("relevant", "scores", "message"),
    [
        ([1, 2], [0, 1], r"relevant\[1\] must be 0 or 1, is 2"),
        ([1, 0], [0, np.inf], r"scores\[1\] must be finite"),
        ([1, 0], [0], "the same length"),
        ([0, 0], [0, 1], "no document is relevant"),
    ],
)
def test_bad_rankings_are_refused(relevant: list[int], scores: list[float], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        average_precision(relevant, scores)


def test_paired_tests_equal_scipy_and_values_by_hand() -> None:
    from scipy import stats

    rng = np.random.default_rng(0)
    a, b = rng.normal(0.1, 1, 20), rng.normal(0, 1, 20)
    assert paired_t(a, b) == pytest.approx(stats.ttest_rel(a, b, alternative="greater").pvalue)
    assert sign([1, 1, 1, 0, 1], [0, 0, 0, 1, 1]) == pytest.approx(5 / 16)
    assert sign([1, 0], [1, 0]) == 1
    assert paired_t([1, 2], [0, 1]) == 0
    assert paired_t([0, 1], [0, 1]) == 1
    with pytest.raises(EstimateError, match="at least 2 categories, there are 1"):
        paired_t([1.0], [0.0])
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def tagging(seed: int, people: int, skill: float, machine: float) -> tuple[dict[str, np.ndarray], ...]:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    truth = (rng.random((400, 12)) < 0.2).astype(np.int64)
    truth[0] = 1
    tags = {f"p{j}": np.where(rng.random(truth.shape) < skill, truth, 1 - truth) for j in range(people)}
    scores = {"ai": truth * machine + rng.normal(size=truth.shape)}
    return {"truth": truth}, tags, scores


def test_methodology_ranks_a_strong_system_first_and_a_weak_one_last() -> None:
    truth, people, strong = tagging(1, 6, 0.9, 6.0)
    found = human_level_tagging(people, truth["truth"], strong, order="best")
    (standing,) = found.standings
    assert found.ranking[0][:2] == ("ai", "system")
    assert (standing.better_than, standing.worse_than) == (6, 0)
    assert standing.hlpri == 7
    assert found.hlpi is not None
    assert found.hlpi > 1
    assert all(a is not None and a < 0.8 for a in found.alphas.values())
    _, people, weak = tagging(1, 6, 0.9, 1.0)
    found = human_level_tagging(people, truth["truth"], weak)
    assert (found.standings[0].hlpri, found.ranking[-1][0]) == (1 / 7, "ai")


def test_order_of_ties_can_reverse_the_result() -> None:
    truth, people, systems = tagging(2, 5, 0.9, 3.0)
    best, worst = (
        human_level_tagging(people, truth["truth"], systems, order=order).hlpi or 0
        for order in ("best", "worst")
    )
    assert best < 1 < worst


@pytest.mark.statistical
def test_holm_keeps_the_error_that_the_published_way_does_not() -> None:
    """A system that is one of them: how often is it called better or worse than anybody?"""
    wrong = {"holm": 0, "none": 0}
    rng = np.random.default_rng(3)
    for _ in range(150):
        truth = rng.integers(3, size=200)
        right = rng.random((9, 200)) < 0.8
        chosen = np.where(right, truth, (truth + 1) % 3)
        people = {f"p{j}": chosen[j] for j in range(8)}
        for way in wrong:
            found = human_level_choices(people, truth, {"ai": chosen[8]}, correction=way)
            wrong[way] += found.standings[0].on_par < 8
    assert wrong["holm"] / 150 <= 0.08
    assert wrong["none"] / 150 > 0.15


def test_missing_choices_are_left_out_and_unreadable_ones_are_wrong() -> None:
    reference = np.array([0, 1, 1, -1])
    found = human_level_choices({"ana": np.array([0, -1, 1, 1])}, reference, {"ai": np.array([0, -1, 1, 1])})
    assert {n: s for n, _, s in found.ranking} == {"ana": 1.0, "ai": pytest.approx(2 / 3)}
    assert found.flags == ("few_people: 1; at least 5 are advised",)


def test_bad_methodology_is_refused() -> None:
    truth, people, systems = tagging(4, 5, 0.9, 1.0)
    with pytest.raises(EstimateError, match="order must be one of expected, best, worst, is 'first'"):
        human_level_tagging(people, truth["truth"], systems, order="first")
    with pytest.raises(EstimateError, match="correction must be one of holm, none"):
        human_level_tagging(people, truth["truth"], systems, correction="fdr")
    with pytest.raises(EstimateError, match="are needed, there are 0 people and 1 systems"):
        human_level_tagging({}, truth["truth"], systems)
    with pytest.raises(EstimateError, match=r"'p0' must have the reference's shape \(400, 3\)"):
        human_level_tagging(people, truth["truth"][:, :3], systems)
    with pytest.raises(EstimateError, match="'bob' judged no item that has a reference"):
        human_level_choices({"bob": np.array([-1])}, np.array([0]), {"ai": np.array([0])})
    with pytest.raises(EstimateError, match=r"'bob' must have shape \(1,\), has \(2,\)"):
        human_level_choices({"bob": np.array([0, 0])}, np.array([0]), {"ai": np.array([0])})


def test_radiologists_on_real_data(datasets: Path) -> None:
    """Three independent radiologists and eight systems against the five who make the reference."""
    rows = np.genfromtxt(
        datasets / "chexpert_test_experts_and_ai.csv.gz",
        delimiter=",",
        names=True,
        dtype=None,
        encoding="utf-8",
    )
    read = rows[~np.isnan(rows["ai_uestc"])]
    findings = np.unique(read["finding"])
    assert len(findings) == 5

    def table(column: str) -> np.ndarray:  # type: ignore[type-arg]
        return np.stack([read[column][read["finding"] == f] for f in findings], axis=1)

    names = [n for n in rows.dtype.names or () if n.startswith("ai_")]
    people = {n: table(n).astype(np.int64) for n in ("rad4_bench", "rad6_bench", "rad8_bench")}
    found = human_level_tagging(
        people, table("groundtruth_majority5").astype(np.int64), {n: table(n) for n in names}
    )
    assert len(found.ranking) == 11
    assert found.hlpi is not None
    assert 0.5 < found.hlpi < 1.2
    assert found.flags


def test_a_person_is_compared_with_the_system_on_the_same_items() -> None:
    """Four people rate only easy items and two only hard items; the system is as good as people on both."""
    rng = np.random.default_rng(8)
    truth, hard = rng.integers(3, size=4000), np.arange(4000) >= 2000
    wrong = (truth + 1) % 3
    said = [np.where(rng.random(4000) < np.where(hard, 0.5, 0.95), truth, wrong) for _ in range(7)]
    everything = {f"p{j}": said[j] for j in range(6)}
    full = human_level_choices(everything, truth, {"ai": said[6]})
    assert full.flags == ()
    assert full.hlpi == pytest.approx(
        full.standings[0].score / np.median([s for _, k, s in full.ranking if k == "person"])
    )
    parted = {n: np.where(hard == (j > 3), x, -1) for j, (n, x) in enumerate(everything.items())}
    found = human_level_choices(parted, truth, {"ai": said[6]})
    assert found.hlpi == found.standings[0].hlpi == pytest.approx(1, abs=0.03)
    (flag,) = found.flags
    assert flag.startswith(
        "different_items: each rated 2000 to 2000 of 4000 items; on a person's items, the model scores 0.4"
    )
