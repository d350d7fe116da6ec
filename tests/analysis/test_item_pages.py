"""Pages of items by filters, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness import BadInput
from oversight.harness.analysis import ItemFilter, ItemVerdict, ModelOutcome, StudyItems
from oversight.harness.config import ModelSection
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Answer, Item, Prediction, PredictionStatus, Question, Verdict

SPECS = [make_spec(name, ModelSection(model=name), "$text", None) for name in ("m", "n", "o")]
CLASSES = ("red", "green", "blue")
WORDS = ("fever", "cough", "übel", "naïve")
N = 120
SINGLES: list[dict[str, Any]] = [
    {"words": "fever"},
    {"words": "NAIVE ube"},
    {"stratum": ("ward", "day")},
    {"expert": "ana"},
    {"asked": "green"},
    *({"verdict": verdict} for verdict in ItemVerdict),
    {"expert": "ben", "asked": "red", "verdict": ItemVerdict.REFUTED},
    {"model": "n"},
    *({"outcome": outcome} for outcome in ModelOutcome),
    *({"model": "o", "outcome": outcome} for outcome in ModelOutcome),
    {"disagreed": ("m", "n", "o")},
    {"disagreed": ("m", "o")},
]
SAID = {
    Verdict.YES: ItemVerdict.CONFIRMED,
    Verdict.NO: ItemVerdict.REFUTED,
    Verdict.UNSURE: ItemVerdict.ABSTAINED,
    Verdict.SKIP: ItemVerdict.ABSTAINED,
    None: ItemVerdict.OPEN,
}


def make_items(first: int, end: int, rng: np.random.Generator) -> list[Item]:
    return [
        Item(f"e{j}", " ".join(rng.choice(WORDS, 2)), CLASSES, (0, 1, 2), {"ward": ("day", "night")[j % 2]})
        for j in range(first, end)
    ]


def fill(store: Store, seed: int = 3) -> None:
    """Items with any mixture of answers and predictions, models in one to three samples."""
    rng = np.random.default_rng(seed)
    store.content.add_items(make_items(0, N, rng))
    asked = [
        Question(f"q{j}-{k}", f"e{j}", k, ("ana", "ben")[int(rng.integers(2))], 3, "partitioned", 1 / 3, 7)
        for j in range(N)
        for k in range(3)
        if rng.random() < 0.5
    ]
    store.content.add_questions(asked)
    given = [(q, Verdict(str(rng.choice(list(Verdict))))) for q in asked if rng.random() < 0.8]
    store.content.add_answers(Answer(q, q.expert, verdict, "t") for q, verdict in given)
    for samples, spec in enumerate(SPECS, start=1):
        store.runs.add_run(spec)
        about = [(j, s) for j in range(N) for s in range(samples) if rng.random() < 0.8]
        store.runs.store_predictions([(spec.id, draw(rng, f"e{j}", s)) for j, s in about])


def draw(rng: np.random.Generator, item: str, sample: int) -> Prediction:
    fate = rng.random()
    if fate < 0.2:
        failed = PredictionStatus.FAILED if fate < 0.1 else PredictionStatus.UNREADABLE
        return Prediction(item, None, failed, "x", sample)
    return Prediction(item, int(rng.integers(3)), sample=sample)


class Records:
    """A reference implementation of the filters that checks one item at a time."""

    def __init__(self, store: Store) -> None:
        self.items = store.content.read_items()
        answered = {a.question.id: a.verdict for a in store.content.read_answers()}
        self.asked = [
            (q.item_id, q.expert, q.option, SAID[answered.get(q.id)]) for q in store.content.read_questions()
        ]
        self.predictions = {
            spec.name: {p.item_id: p for p in store.runs.read_predictions(spec.id)} for spec in SPECS
        }

    def find(self, wanted: ItemFilter) -> list[int]:
        return [j for j, item in enumerate(self.items) if self._is_found(item, wanted)]

    def _is_found(self, item: Item, wanted: ItemFilter) -> bool:
        asked = [question[1:] for question in self.asked if question[0] == item.id]
        about = self.predictions if wanted.model is None else {wanted.model: self.predictions[wanted.model]}
        predicted = [said[item.id] for said in about.values() if item.id in said]
        rivals = [self.predictions[name].get(item.id) for name in wanted.disagreed]
        *whole, last = wanted.words.lower().replace("ube", "übe").replace("naive", "naïve").split() or [""]
        words = {*item.text.split()}
        return (
            words >= {*whole}
            and any(word.startswith(last) for word in words)
            and (wanted.stratum is None or item.meta[wanted.stratum[0]] == wanted.stratum[1])
            and (no_question(wanted) or any(self._is_asked(question, wanted) for question in asked))
            and (wanted.model is None or bool(predicted))
            and (wanted.outcome is None or any(wanted.outcome in outcomes(p, asked) for p in predicted))
            and (not rivals or len({p.option for p in rivals if p} - {None}) > 1)
        )

    def _is_asked(self, question: tuple[str, int, ItemVerdict], wanted: ItemFilter) -> bool:
        expert, option, verdict = question
        return (
            wanted.expert in (None, expert)
            and (wanted.asked is None or CLASSES.index(wanted.asked) == option)
            and wanted.verdict in (None, verdict)
        )


def no_question(wanted: ItemFilter) -> bool:
    return wanted.expert is wanted.asked is wanted.verdict is None


def outcomes(p: Prediction, asked: list[tuple[str, int, ItemVerdict]]) -> set[ModelOutcome]:
    if p.option is None:
        return {ModelOutcome.FAILED if p.status is PredictionStatus.FAILED else ModelOutcome.UNREADABLE}
    found = set[ModelOutcome]()
    for _, option, verdict in asked:
        if verdict is ItemVerdict.CONFIRMED:
            found.add(ModelOutcome.CONFIRMED if option == p.option else ModelOutcome.REFUTED)
        elif verdict is ItemVerdict.REFUTED and option == p.option:
            found.add(ModelOutcome.REFUTED)
    return found


def read_all(items: StudyItems, wanted: ItemFilter, limit: int = 500) -> list[int]:
    """All pages, which must be the same backward."""
    pages = [items.read_page(wanted, limit=limit)]
    assert pages[0].before is None
    while pages[-1].after is not None:
        pages.append(items.read_page(wanted, after=pages[-1].after, limit=limit))
    forward, here = list(pages), pages[-1]
    while here.before is not None:
        here = items.read_page(wanted, before=here.before, limit=limit)
        pages.pop()
        assert here.items == pages[-1].items
    assert len(pages) == 1
    found = [place for page in forward for place in page.items]
    assert {page.matches for page in forward} == {len(found)}
    return found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from tests.conftest import empty_database

    with Store(empty_database(request, tmp_path_factory.mktemp("pages"))) as opened:
        fill(opened)
        yield opened


def test_every_filter_and_every_pair_finds_what_it_says(store: Store) -> None:
    records, items = Records(store), StudyItems.read(store)
    pairs = [{**a, **b} for a, b in combinations(SINGLES, 2)]
    for fields in [{}, *SINGLES, *pairs]:
        wanted = ItemFilter(**fields)
        assert items.find_items(wanted).tolist() == records.find(wanted), wanted
    for fields in SINGLES:  # each filter must find some items, but not all
        assert 0 < len(items.find_items(ItemFilter(**fields))) < N, fields


@pytest.mark.parametrize("seed", range(4))
def test_any_study_is_filtered_as_it_is_written(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        fill(store, seed)
        records, items = Records(store), StudyItems.read(store)
        for _ in range(40):
            fields: dict[str, Any] = {}
            for single in rng.choice(np.array(SINGLES, dtype=object), 3):
                fields |= single
            assert items.find_items(ItemFilter(**fields)).tolist() == records.find(ItemFilter(**fields)), (
                fields
            )


@pytest.mark.parametrize("limit", [1, 7, N - 1, N, N + 1])
def test_pages_hold_every_item_once_forward_and_backward(store: Store, limit: int) -> None:
    items, refuted = StudyItems.read(store), ItemFilter(outcome=ModelOutcome.REFUTED)
    assert read_all(items, ItemFilter(), limit) == list(range(N))
    assert read_all(items, refuted, limit) == items.find_items(refuted).tolist()


def test_a_page_holds_the_rows_of_its_items(store: Store) -> None:
    page = StudyItems.read(store).read_page(ItemFilter(), after=4, limit=2)
    assert page.items == {j: store.content.read_items()[j].id for j in (5, 6)}
    assert (page.matches, page.of) == (N, N)


def test_a_page_beyond_the_ends_is_empty_and_leads_back(store: Store) -> None:
    items = StudyItems.read(store)
    behind = items.read_page(ItemFilter(), after=N - 1)
    assert (behind.items, behind.before, behind.after) == ({}, N, None)
    assert items.read_page(ItemFilter(), before=N, limit=1).items == {N - 1: f"e{N - 1}"}
    front = items.read_page(ItemFilter(), before=0)
    assert (front.items, front.before, front.after) == ({}, None, -1)
    assert items.read_page(ItemFilter(), after=-1, limit=1).items == {0: "e0"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"expert": "' OR 1=1"}, "there is no expert \"' OR 1=1\"; there are: '(ana|ben)', '(ana|ben)'"),
        ({"asked": "pink"}, "there is no class 'pink'; there are: 'red', 'green', 'blue'"),
        ({"model": "x"}, "there is no model 'x'; there are: 'm', 'n', 'o'"),
        (
            {"outcome": "wrong"},
            "there is no outcome 'wrong'; there are: 'confirmed', 'refuted', 'unreadable', 'f",
        ),
        ({"verdict": "wrong"}, "there is no verdict 'wrong'; there are: 'confirmed'"),
        ({"disagreed": ("m",)}, "only 'm' is named; name a second model"),
        ({"stratum": ("bed", "day")}, "there is no column of the items 'bed'; there are: 'ward'"),
        ({"stratum": ("ward", "dusk")}, "there is no stratum of 'ward' 'dusk'; there are: 'day', 'night'"),
    ],
)
def test_missing_annotators_are_refused(store: Store, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        StudyItems.read(store).read_page(ItemFilter(**fields))


def test_an_outcome_may_be_given_by_its_word(store: Store) -> None:
    words: dict[str, Any] = {"outcome": "refuted", "verdict": "open"}
    items, word = StudyItems.read(store), ItemFilter(**words)
    same = ItemFilter(outcome=ModelOutcome.REFUTED, verdict=ItemVerdict.OPEN)
    assert items.find_items(word).tolist() == items.find_items(same).tolist() != []


def test_a_page_is_of_one_direction_and_of_a_bounded_size(store: Store) -> None:
    items = StudyItems.read(store)
    with pytest.raises(BadInput, match="not both"):
        items.read_page(ItemFilter(), after=1, before=2)
    for limit in (0, 501):
        with pytest.raises(BadInput, match=f"limit must be 1 to 500, is {limit}"):
            items.read_page(ItemFilter(), limit=limit)


def test_items_with_options_of_their_own_have_no_classes(url: str) -> None:
    with Store(url) as store:
        store.content.add_items([Item(f"i{k}", "text", ("a", f"b{k}"), (0, 1)) for k in range(2)])
        with pytest.raises(BadInput, match="no class 'a', because every item has its own options"):
            StudyItems.read(store).find_items(ItemFilter(asked="a"))


def test_a_study_of_nothing_has_an_empty_page(url: str) -> None:
    with Store(url) as store:
        page = StudyItems.read(store).read_page(ItemFilter(words="fever"))
        assert (page.items, page.matches, page.of, page.before, page.after) == ({}, 0, 0, None, None)


def test_pages_go_on_without_gap_or_double_while_rows_arrive(url: str) -> None:
    rng = np.random.default_rng(0)
    found, wanted = list[int](), ItemFilter(words="red")
    with Store(url) as store:
        store.content.add_items(make_items(0, 10, rng))
        items, after = StudyItems.read(store), list[int | None]([None])
        while after:
            stored = items.read_page(ItemFilter()).of
            if stored < 40:  # items stored meanwhile do not change columns that were read before
                store.content.add_items(make_items(stored, stored + 10, rng))
                assert items.read_page(wanted, after=after[0], limit=4).of == stored
            items = StudyItems.read(store)
            page = items.read_page(wanted, after=after[0], limit=4)
            found += page.items
            after = [] if page.after is None else [page.after]
    assert found == list(range(40))


def test_columns_read_again_tell_what_became_of_it(url: str) -> None:
    failed, refuted = (
        ItemFilter(outcome=ModelOutcome.FAILED),
        ItemFilter(model="m", outcome=ModelOutcome.REFUTED),
    )
    with Store(url) as store:
        store.content.add_items([Item("i", "text", ("a", "b"), (0, 1))])
        question = Question("q", "i", 1, "ana", 2, "partitioned", 0.5, 7)
        store.content.add_questions([question])
        store.runs.add_run(SPECS[0])
        gone = Prediction("i", None, PredictionStatus.FAILED, "HTTP 500")
        store.runs.store_predictions([(SPECS[0].id, gone)])
        items = StudyItems.read(store)
        assert read_all(items, failed) == read_all(items, ItemFilter(verdict=ItemVerdict.OPEN)) == [0]
        store.runs.store_predictions([(SPECS[0].id, Prediction("i", 1))])
        store.content.add_answers([Answer(question, "ana", Verdict.NO, "t")])
        items = StudyItems.read(store)
        assert (read_all(items, failed), read_all(items, refuted)) == ([], [0])
        store.runs.store_predictions([(SPECS[0].id, replace(Prediction("i", 0), sample=s)) for s in (1, 2)])
        assert read_all(StudyItems.read(store), refuted) == []
