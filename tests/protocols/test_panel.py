"""Panels: who rates what, by which chance, and the spreadsheet there and back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from oversight.harness import BadInput, DataError, EstimateError
from oversight.harness.datasets import read_ratings
from oversight.harness.panel import krippendorff_alpha, make_panel
from oversight.harness.types import Answer, Assignment, Item, Rating
from oversight.protocols.collect import SimulatedExperts, export_questions, read_panel, write_ratings
from oversight.protocols.routing import BalancedPanel, Expert, RandomPanel, Roster, one_expert_per_class
from oversight.protocols.routing.direct import Direct

CLASSES = ("red", "green", "blue")
PEOPLE = ("ana", "bo", "cy", "di", "ed", "flo", "gus")


def make_items(n: int) -> list[Item]:
    return [Item(f"i{j}", f"text {j}", CLASSES, (2, 0, 1)) for j in range(n)]


def test_random_panels_draw_uniformly_with_their_propensity() -> None:
    plan = RandomPanel(PEOPLE, 3, seed=5)
    made = plan.route(make_items(3000))
    assert {a.propensity for a in made} == {3 / 7}
    by_item = Counter(a.item_id for a in made)
    assert set(by_item.values()) == {3}
    assert len({(a.item_id, a.annotator) for a in made}) == len(made) == len({a.id for a in made})
    loads = np.array(list(Counter(a.annotator for a in made).values()))
    assert len(loads) == 7
    assert abs(loads / 3000 - 3 / 7).max() < 0.03


def test_items_added_later_change_no_earlier_draw() -> None:
    plan = RandomPanel(PEOPLE, 3, seed=5)
    assert plan.route(make_items(20)) == plan.route(make_items(50))[:60]
    assert plan.route(make_items(20)) != RandomPanel(PEOPLE, 3, seed=6).route(make_items(20))


@pytest.mark.parametrize(("n", "items"), [(2, 21), (3, 70), (3, 50), (5, 43), (7, 10)])
def test_balanced_panels_share_the_load_and_the_meetings(n: int, items: int) -> None:
    made = BalancedPanel(PEOPLE, n, seed=2).route(make_items(items))
    loads = Counter(a.annotator for a in made)
    assert max(loads.values()) - min(loads.values()) <= 1
    groups: dict[str, list[str]] = {}
    for a in made:
        groups.setdefault(a.item_id, []).append(a.annotator)
    assert list(groups) == [f"i{j}" for j in range(items)]
    assert all(len(set(g)) == n for g in groups.values())
    met = Counter(pair for g in groups.values() for pair in combinations(sorted(g), 2))
    each = items * n * (n - 1) / (7 * 6)
    assert max(met.values()) - each <= 2.5
    assert min(met[p] for p in combinations(sorted(PEOPLE), 2)) >= each - 2.5


def test_balanced_plan_is_uniform_over_seeds() -> None:
    items = make_items(5)
    seen: Counter[str] = Counter()
    for seed in range(600):
        plan = BalancedPanel(PEOPLE, 2, seed=seed).route(items)
        seen.update(a.annotator for a in plan if a.item_id == "i3")
    shares = np.array([seen[p] / 600 for p in PEOPLE])
    assert abs(shares - 2 / 7).max() < 0.07


def test_only_present_experts_for_any_class_rate() -> None:
    roster = Roster(
        (
            Expert("ana", ("*",)),
            Expert("bo", ("red",)),
            Expert("cy", ("*",), absent=True),
            Expert("di", ("*",)),
        )
    )
    assert RandomPanel.from_roster(roster, 2).annotators == ("ana", "di")
    assert BalancedPanel.from_roster(roster, 2).annotators == ("ana", "di")


@pytest.mark.parametrize(
    ("people", "n", "message"),
    [
        (("ana", "bo", "ana"), 2, "'ana' is named twice"),
        (("ana", "bo"), 1, "n must be at least 2 annotators per item, is 1"),
        (("ana", "bo"), 3, "n = 3 annotators per item are requested, but there are only 2"),
    ],
)
def test_impossible_panels_are_refused(people: tuple[str, ...], n: int, message: str) -> None:
    for rule in (RandomPanel, BalancedPanel):
        with pytest.raises(BadInput, match=message):
            rule(people, n)


@pytest.fixture
def exported(tmp_path: Path) -> tuple[list[Path], list[Assignment], dict[str, Item]]:
    items = make_items(12)
    made = BalancedPanel(PEOPLE[:4], 3, seed=1).route(items)
    by_id = {i.id: i for i in items}
    return export_questions(made, by_id, (), tmp_path / "panel"), made, by_id


def fill(path: Path, labels: list[str]) -> None:
    head, *rows = path.read_text().splitlines()
    filled = [row + label for row, label in zip(rows, labels, strict=False)] + rows[len(labels) :]
    path.write_text("\n".join([head, *filled]) + "\n")


def test_labels_in_exported_spreadsheets_are_read(
    exported: tuple[list[Path], list[Assignment], dict[str, Item]], tmp_path: Path
) -> None:
    paths, made, items = exported
    assert [p.name for p in sorted(paths)] == [f"panel-{n}.csv" for n in PEOPLE[:4]]
    first = paths[0].read_text().splitlines()
    assert "blue | red | green" in first[1]  # the item's shuffled order
    assert read_panel(paths, made, items) == []
    for path in paths:
        fill(path, ["Red", "green ", "blue"])
    choices = read_panel(paths, made, items)
    assert len(choices) == 12
    assert {c.label for c in choices} == {"red", "green", "blue"}
    assert read_panel([*paths, *paths], made, items) == choices
    ratings = [Rating(c.assignment.item_id, c.assignment.annotator, c.label) for c in choices]
    long_form = write_ratings(ratings, tmp_path / "ratings.csv")
    assert read_ratings(long_form, classes=CLASSES) == ratings
    assert read_panel([long_form], made, items) == choices
    krippendorff_alpha(make_panel(ratings, CLASSES).votes())
    left = export_questions(made, items, [a.id for a in made[:30]], tmp_path / "second", "jsonl")
    assert sum(len(p.read_text().splitlines()) for p in left) == 6
    assert read_panel(left, made, items) == []


def test_files_that_may_hold_ratings_are_never_overwritten(
    exported: tuple[list[Path], list[Assignment], dict[str, Item]],
) -> None:
    paths, made, items = exported
    with pytest.raises(BadInput, match="already exists and may contain answers"):
        export_questions(made, items, (), paths[0].parent)
    twins = RandomPanel(("a b", "a/b"), 2).route(list(items.values()))
    with pytest.raises(BadInput, match="have the same file name"):
        export_questions(twins, items, (), paths[0].parent / "twins")


def test_bad_rows_are_named(exported: tuple[list[Path], list[Assignment], dict[str, Item]]) -> None:
    paths, made, items = exported
    path = paths[0]
    text = path.read_text()
    fill(path, ["purple"])
    with pytest.raises(DataError, match=r":2 \[label\]: 'purple' is not an option; options are blue \| red"):
        read_panel([path], made, items)
    path.write_text(text)
    fill(path, ["red"])
    with pytest.raises(DataError, match=r":2 \[assignment_id\]: '.*' was never assigned"):
        read_panel([path], [], items)
    name = path.stem.removeprefix("panel-")
    path.write_text(path.read_text().replace(f",{name},", ",zoe,"))
    with pytest.raises(DataError, match=rf":2 \[annotator\]: the item was given to '{name}', not to 'zoe'"):
        read_panel([path], made, items)
    path.write_text(text)
    fill(path, ["red"])
    again = path.with_name("again.csv")
    again.write_text(path.read_text().replace(",red\n", ",blue\n", 1))
    with pytest.raises(DataError, match=r"again\.csv:2 \[label\]: second label 'blue'; the first was 'red'"):
        read_panel([path, again], made, items)
    path.write_text("item,label\ni1,red\n")
    with pytest.raises(DataError, match=r":2 \[annotator\]: there is no such column"):
        read_panel([path], made, items)
    path.write_text("item,annotator,label\ni1,zoe,red\n")
    with pytest.raises(DataError, match=r":2 \[annotator\]: the item 'i1' was never given to 'zoe'"):
        read_panel([path], made, items)


def direct_setting(seed: int, n: int = 300) -> tuple[Direct, SimulatedExperts, np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    items = make_items(n)
    truth = rng.integers(3, size=n)
    grid = np.where(rng.random((n, 3)) < 0.8, truth[:, None], rng.integers(3, size=(n, 3)))
    model = np.where(rng.random(n) < 0.93, truth, rng.integers(3, size=n))
    ratings = [Rating(f"i{j}", f"a{a}", CLASSES[grid[j, a]]) for j in range(n) for a in range(3)]
    panel = make_panel(ratings, CLASSES)
    experts = SimulatedExperts({f"i{j}": int(truth[j]) for j in range(n)})
    return Direct(one_expert_per_class(CLASSES), items, panel, model, seed), experts, truth, model


def test_the_direct_route_asks_only_where_they_differ_and_is_exact() -> None:
    direct, experts, truth, model = direct_setting(0)
    drawn = direct._drawn()  # noqa: SLF001  what the annotators said, to compare with
    asked = {item.id for item in direct.asked}
    answers: list[Answer] = []
    while questions := direct.next_questions(answers):
        assert {q.item_id for q in questions} <= asked
        assert {q.protocol for q in questions} == {"direct"}
        answers += experts.answer(questions)
    found = direct.result(answers)
    assert found.wins == int(((model == truth) & (drawn != truth)).sum())
    assert found.losses == int(((drawn == truth) & (model != truth)).sum())
    assert found.wins + found.losses + found.neither == len(asked)
    assert found.screened == 300
    assert found.difference == pytest.approx((model == truth).mean() - (drawn == truth).mean())
    assert found.superhuman
    assert len(answers) < 2 * len(asked) + 1


def test_limit_samples_disagreements_and_early_results_are_refused() -> None:
    direct, experts, _, _ = direct_setting(1)
    some = replace(direct, limit=20)
    asked = {item.id for item in some.asked}
    assert len(asked) == 20
    assert asked < {item.id for item in direct.asked}
    answers = experts.answer(some.next_questions())
    with pytest.raises(EstimateError, match="of 20 items are not decided yet"):
        some.result(answers)
    while questions := some.next_questions(answers):
        answers += experts.answer(questions)
    found = some.result(answers)
    assert found.wins + found.losses + found.neither == 20
    assert found.screened == round(300 * 20 / len(direct.asked))


def test_abstentions_count_against_the_model() -> None:
    direct, experts, _, _ = direct_setting(0)
    silent = replace(experts, abstention=0.3)
    answers, full = run(direct, silent), direct.result(run(direct, experts))
    found = direct.result(answers)
    assert found.unsettled > 0
    assert found.wins + found.losses + found.neither + found.unsettled == len(direct.asked)
    assert found.screened == 300
    assert found.p_value > full.p_value
    assert found.low < full.difference < found.high
    assert found.high - found.low > full.high - full.low


def run(direct: Direct, experts: SimulatedExperts) -> list[Answer]:
    answers: list[Answer] = []
    while questions := [
        q for q in direct.next_questions(answers) if q.id not in {a.question.id for a in answers}
    ]:
        answers += experts.answer(questions)
    return answers


def test_agreement_everywhere_needs_no_question() -> None:
    items = make_items(4)
    ratings = [Rating(i.id, a, c) for i, c in zip(items, "rrgb", strict=True) for a in "xy"]
    named = [Rating(r.item, r.annotator, {"r": "red", "g": "green", "b": "blue"}[r.label]) for r in ratings]
    panel = make_panel(named, CLASSES)
    same = Direct(one_expert_per_class(CLASSES), items, panel, panel.votes().argmax(axis=1))
    assert same.asked == []
    assert same.next_questions() == []
    assert same.result([]).screened == 4


def test_a_direct_comparison_that_does_not_fit_is_refused() -> None:
    direct, _, _, model = direct_setting(2, 5)
    with pytest.raises(BadInput, match="must be the panel's items, in the same order"):
        Direct(direct.roster, direct.items[::-1], direct.panel, model)
    odd = [Item(i.id, i.text, ("red", "green", "grey"), (0, 1, 2)) for i in direct.items]
    with pytest.raises(BadInput, match="has no option 'blue', which is a class of the panel"):
        Direct(direct.roster, odd, direct.panel, model)
    together = direct.panel.clustered({i.id: str(j // 2) for j, i in enumerate(direct.items)})
    with pytest.raises(BadInput, match="needs independent items, but these are in clusters"):
        Direct(direct.roster, direct.items, together, model)
