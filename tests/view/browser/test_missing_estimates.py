"""Every page of studies in which models have no estimate, or only some have one, served and as files."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchmarks._view_server import serve
from oversight.harness.config import ModelSection, Study, read_study
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Answer, Item, Prediction, PredictionStatus, Question
from oversight.protocols.routing import Disagreement, Partitioned, one_expert_per_class
from tests.view.browser.conftest import Reader, here, visit
from tests.view.browser.studies import export, file_of
from tests.view.conftest import CLASSES, SETTINGS, predict, verdict_on

pytestmark = [pytest.mark.browser, pytest.mark.slow]

N = 24
PAGES = ("#/", "#/items", "#/item?id=i1", "#/compare", "#/collection")


def write_study(folder: Path, protocol: str, names: list[str], failing: set[str], answered: int) -> Study:
    """A study with a column of its items; every call of the `failing` models failed."""
    folder.mkdir()
    settings = SETTINGS.format(store="") + f'[experts]\nprotocol = "{protocol}"\n'
    (folder / "study.toml").write_text(settings)
    study = read_study(folder / "study.toml")
    items = [Item(f"i{j}", f"text {j}", CLASSES, (0, 1, 2, 3), {"level": f"l{j % 2}"}) for j in range(N)]
    made = {name: [_predict(name, j, failing) for j in range(N)] for name in names}
    with Store(study.store_url) as store:
        store.content.add_items(items)
        store.content.add_questions(_ask(protocol, items, made))
        asked = store.content.read_questions()[:answered]
        store.content.add_answers(Answer(q, q.expert, verdict_on(q), "test", "seen") for q in asked)
        for name, predictions in made.items():
            spec = make_spec(name, ModelSection(model=name), "$text", None)
            store.runs.add_run(spec)
            store.runs.store_predictions([(spec.id, each) for each in predictions])
    return study


def _ask(protocol: str, items: list[Item], made: dict[str, list[Prediction]]) -> list[Question]:
    roster = one_expert_per_class(CLASSES)
    if protocol == "partitioned":
        return Partitioned(roster, seed=1).route(items)
    pair = {name: {p.item_id: p.option for p in made[name]} for name in list(made)[:2]}
    return Disagreement(roster, pair, seed=1).route(items)


def _predict(name: str, j: int, failing: set[str]) -> Prediction:
    if name in failing:
        return Prediction(f"i{j}", None, PredictionStatus.FAILED, "HTTP 500: oops")
    return predict(j, 2 + int(name[1:]))


MANY = [f"m{k}" for k in range(20)]
STUDIES = {
    "unanswered": ("partitioned", MANY[:1], set[str](), 0),
    "one": ("partitioned", MANY[:1], {"m0"}, N),
    "half": ("partitioned", MANY[:3], {"m0"}, N),
    "many": ("partitioned", MANY, {"m3"}, N - 4),
    "disagreement": ("disagreement", MANY[:2], set[str](), N),
}
_SLOW = pytest.mark.slow


@pytest.mark.parametrize("name", [pytest.param(n, marks=_SLOW) if n == "many" else n for n in STUDIES])
def test_every_page_is_drawn(name: str, tmp_path: Path, reader: Reader) -> None:
    protocol, models, failing, answered = STUDIES[name]
    folder = tmp_path / name
    export(folder, write_study(folder, protocol, models, failing, answered))
    with serve(folder) as served:
        page = reader().open(served.url)
        for address in (*PAGES, f"#/model?name={models[0]}"):
            for way in (here(served, address), file_of(folder) + address):
                visit(page, way)
                expect(page.locator("main")).not_to_contain_text("undefined")
                if address == "#/compare" and name in ("many", "half"):
                    joint = page.locator(".strip").get_by_text("joint (simultaneous) interval")
                    expect(joint).to_have_count(int(name == "many"))


def test_page_of_the_only_model_opens_from_the_overview(tmp_path: Path, reader: Reader) -> None:
    folder = tmp_path / "only"
    export(folder, write_study(folder, "partitioned", MANY[:1], set(), N))
    page = reader().open(file_of(folder))
    page.get_by_role("link", name="m0").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("m0")
    expect(page.get_by_role("alert")).to_have_count(0)
