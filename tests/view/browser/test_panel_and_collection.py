"""The pages of a panel and of a collection in a real browser, from one file without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from oversight.harness.config import ModelSection, Study
from oversight.harness.llm import make_spec
from oversight.harness.store import SOURCE, Pulled, Quarantined, Queue, QueuedTask, Response, Revision, Store
from oversight.harness.types import Assignment, Choice, Item, Prediction, Question
from oversight.harness.view import write_page
from oversight.harness.view.payload.panel import read_panel

HOSTILE = "<img src=x onerror=alert(1)>"
CLASSES = ("red", "green", HOSTILE)
N = 40
TRUTH = np.random.default_rng(5).integers(3, size=N)


def study_of(protocol: str, **of_items: str) -> Study:
    return Study.model_validate(
        {
            "study": {"name": HOSTILE},
            "items": {"file": "x.csv", "classes": list(CLASSES), **of_items},
            "experts": {"protocol": protocol},
        }
    )


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A phone's page that may ask nobody and may complain about nothing."""
    context = chromium.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    trouble: list[str] = []
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    yield page
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    assert trouble == []
    context.close()


def items() -> list[Item]:
    return [Item(f"i{j}", f"text {j}", CLASSES, (0, 1, 2)) for j in range(N)]


def write_panel(folder: Path, **of_items: str) -> tuple[Study, Store]:
    rng, study = np.random.default_rng(1), study_of("panel", **of_items)
    store = Store(f"sqlite:///{folder / 'panel.db'}")
    store.content.add_items(items())
    given = [
        Assignment(f"s{j}-{name}", f"i{j}", name, 1.0, "panel", 7)
        for j in range(N)
        for name in ("ana", "bo", HOSTILE)
    ]
    store.panel.add_assignments(given)
    said = [(TRUTH[int(a.item_id[1:])] + (rng.random() < 0.2)) % 3 for a in given]
    store.panel.add_choices([Choice(a, CLASSES[k], "offline") for a, k in zip(given, said, strict=True)])
    for name, number in ((f"large {HOSTILE}", N), ("half", N // 2)):
        spec = make_spec(name, ModelSection(model="m"), "$text", None)
        store.runs.add_run(spec)
        store.runs.store_predictions([(spec.id, Prediction(f"i{j}", int(TRUTH[j]))) for j in range(number)])
    return study, store


@pytest.mark.browser
def test_a_panels_page_shows_its_numbers_with_titles_units_and_reasons(page: Page, tmp_path: Path) -> None:
    study, store = write_panel(tmp_path)
    with store:
        path, found = write_page(study, store, None, tmp_path / "panel.html"), read_panel(study, store)
    page.goto(f"{path.as_uri()}#/panel")
    expect(page.get_by_role("heading", name="Panel", exact=True)).to_be_visible()
    alpha = found["agreement"]["alpha"]
    row = page.locator("tr", has_text="Krippendorff's α, nominal").first
    for number in (alpha["value"], alpha["low"], alpha["high"]):
        expect(row).to_contain_text(f"{number:.3f}")
    expect(page.get_by_text(found["models"][0]["certificate"]["verdict"])).to_be_visible()
    overall = found["models"][0]["parity"]["overall"]
    last = page.locator("tr.main", has_text="all items")
    expect(last).to_contain_text(f"{100 * overall['human']['value']:.1f} %")
    expect(last).to_contain_text(f"{100 * overall['model']['low']:.1f} % – ")
    expect(page.get_by_text("They need labels of experts who are not on the panel")).to_be_visible()
    for what in ("human-level indices", "certificate and parity"):
        expect(page.get_by_text(f"Not computed: {what}.")).to_be_visible()
    expect(page.get_by_text("there is no value for the item 'i20'")).to_be_visible()
    pictures = page.locator("figure svg")
    assert pictures.count() == 4
    for place in range(4):
        named = (pictures.nth(place).get_attribute("aria-labelledby") or "").split(" ")
        assert len(named) == 2
        for identity in named:
            assert page.locator(f'[id="{identity}"]').count() == 1


@pytest.mark.browser
def test_intervals_of_a_panel_that_may_not_hold_are_marked(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("id,text,ward\n" + "".join(f"i{j},text {j},w{j % 3}\n" for j in range(N)))
    study, store = write_panel(tmp_path, file=str(file), cluster="ward")
    with store:
        path = write_page(study, store, None, tmp_path / "panel.html")
    page.goto(f"{path.as_uri()}#/panel")
    last = page.locator("tr.main", has_text="all items")
    expect(last.locator("td", has_text=" – ").first).to_be_visible()
    intervals = last.locator("td", has_text=" – ").all_inner_texts()
    assert all(text.endswith(" (!)") for text in intervals)


@pytest.mark.browser
def test_a_collections_page_says_what_to_do_and_what_does_not_count(page: Page, tmp_path: Path) -> None:
    study, queue = study_of("partitioned"), Queue(HOSTILE, "m", "http://x", 3, "a@example.org", 5, "2026")
    asked = [Question(f"q{j}", f"i{j}", 0, HOSTILE, 3, "partitioned", 1 / 3, 7) for j in range(N)]
    seen = [
        Revision(HOSTILE, j, "v", j, f"q{j}", False, 5, 5, False, [], f"2026-03-01T{9 + j:02}:30:00Z", 20.0)
        for j in range(6)
    ]
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        store.content.add_items(items())
        store.content.add_questions(asked)
        store.labelling.save_queue(queue)
        store.labelling.add_tasks([QueuedTask(q.id, HOSTILE, j, "d", j) for j, q in enumerate(asked)])
        pulled = Pulled(
            task_ids=frozenset(range(7)),
            question_ids=frozenset(f"q{j}" for j in range(6)),
            replies=tuple(Response(f"q{j}", HOSTILE, "no", SOURCE) for j in range(6)),
            quarantine=(Quarantined(HOSTILE, 9, 6, "q6", "answered by another user", f"user {HOSTILE}"),),
            revisions=tuple(seen),
        )
        store.labelling.apply_look(queue, pulled, store.content.replies)
        path = write_page(study, store, None, tmp_path / "page.html")
    page.goto(f"{path.as_uri()}#/collection")
    expect(page.get_by_text(f"6 of {N} questions answered (15.0 %), 34 open, by 1 expert.")).to_be_visible()
    expect(page.get_by_text("6 answers with a time, from Label Studio or the answer page;")).to_be_visible()
    assert page.locator(".steps code").all_inner_texts() == [
        "oversight label status --json",
        "oversight label watch",
    ]
    row = page.locator("table", has_text="answers/h").locator("tbody tr")
    expect(row).to_contain_text(HOSTILE)
    assert row.locator("td").all_inner_texts()[-6:] == [
        "20", "0", "0.0", "11 min", "1.0", "2026-03-01 14:30",
    ]  # fmt: skip
    assert page.locator("figure").count() == 2
    expect(page.get_by_text(f"user {HOSTILE}")).to_be_visible()
    page.get_by_role("link", name="i6").click()
    expect(page).to_have_url(f"{path.as_uri()}#/item?id=i6")
