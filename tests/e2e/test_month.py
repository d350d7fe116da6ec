"""A month of a campaign in minutes: eight experts on both servers, and all that weeks bring."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks._view_server import serve as show
from oversight.harness.store import Store
from oversight.protocols.collect.label_studio.server.own_server import LabelStudioServer
from tests.answer_page.conftest import Desk, command, environment, serve
from tests.e2e.conftest import Bench, Person, kill_at, region, sign_up
from tests.e2e.month import CLASSES, TEAM, Month
from tests.fakes.faulty_proxy import FaultyProxy

pytestmark = [pytest.mark.slow, pytest.mark.label_studio, pytest.mark.browser, pytest.mark.timeout(600)]

N = 160
ACCURACY = 0.75
_QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")


@pytest.fixture
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium on the path")
    with sync_playwright() as play:
        arguments = ["--no-sandbox", "--no-first-run", *(f"--disable-{q}" for q in _QUIET)]
        expect.set_options(timeout=60_000)
        running = play.chromium.launch(executable_path=chromium, args=arguments)
        yield running
        running.close()


@pytest.fixture
def month(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    label_studio: LabelStudioServer,
    admin: Person,
    people: dict[str, Person],
    oversight: Callable[..., Any],
    browser: Browser,
) -> Iterator[Month]:
    """Notes, a key that the test alone sees, a model that is right about three of four, eight accounts."""
    rng = np.random.default_rng(20_261_101)
    truth = tuple(CLASSES[j] for j in rng.integers(len(CLASSES), size=N))
    steps = rng.integers(1, len(CLASSES), size=N)
    wrong = [CLASSES[(CLASSES.index(t) + int(j)) % 4] for t, j in zip(truth, steps, strict=True)]
    said = [t if right else w for t, w, right in zip(truth, wrong, rng.random(N) < ACCURACY, strict=True)]
    due = (datetime.now(UTC).date() + timedelta(days=30)).isoformat()
    (tmp_path / "study.toml").write_text(
        f'[study]\nname = "A month"\nseed = 5\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
        f'[experts]\ndeadline = {due}\n[label_studio]\ninstructions = "Read the note."\n'
    )
    (tmp_path / "experts.toml").write_text(
        "".join(
            f'[[expert]]\nname = "{e}"\nclasses = ["{c}"]\nemail = "{e}@example.org"\n'
            for e, c in TEAM.items()
        )
    )
    notes = (f"i{j},The patient of note number {j}.\n" for j in range(N))
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(notes))
    (tmp_path / "answers.csv").write_text(
        "id,prediction\n" + "".join(f"i{j},{s}\n" for j, s in enumerate(said))
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABEL_STUDIO_URL", label_studio.url)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", label_studio.token)
    others = {e: sign_up(label_studio, admin, f"{e}@example.org") for e in TEAM if e not in people}
    accuracy = float(np.mean([s == t for s, t in zip(said, truth, strict=True)]))
    made = Month(
        Bench(tmp_path, oversight, people | others, admin), browser, label_studio.url, truth, accuracy
    )
    yield made
    for context in made.contexts:
        context.close()
    for person in others.values():
        person.http.close()


def test_numbers_stay_consistent_over_a_month_of_collection(month: Month, proxy: FaultyProxy) -> None:
    call, bench = month.bench.call, month.bench
    call("label", "route")
    call("label", "push")
    call("predictions", "import", "answers.csv", "--model", "m")
    with serve(bench.folder) as desk:
        with show(bench.folder) as view:
            ana, bea, cem, dan = first_week(month, desk, proxy)
            month.check_counts(view)
            second_week(month, desk, ana, cem)
            month.check_counts(view)
            third_week(month, desk, bea, dan)
            month.check_counts(view)
            share_tablet(month, desk, bea)
            month.check_counts(view)
            saved = back_up(month, desk, bea, dan)
            month.check_counts(view)
        port = desk.port
        # second kill: the page's server, while a phone is connected
        os.kill(desk.process.pid, signal.SIGKILL)
        desk.process.wait()
        month.tap_through(bea, "bea", 2, offline=True)
        expect(bea.locator("#unsent")).to_contain_text("Not sent yet: 2")
    lost = restore(month, saved)
    month.check_counts()
    with serve(bench.folder, port=port) as desk, show(bench.folder) as view:
        bea.evaluate("dispatchEvent(new Event('online'))")
        expect(bea.locator("#unsent")).to_be_hidden()
        recover(month, desk, dan, lost)
        month.check_counts(view)
        last_week(month, desk, ana, bea, dan)
        month.check_counts(view)
        change_items(month, bea)
        month.check_counts(view)
        change_mind(month, bea)
        month.check_counts(view)
        erase_ben(month)
        month.check_counts(view)
    holds(month)
    month.check_counts()


def first_week(month: Month, desk: Desk, proxy: FaultyProxy) -> tuple[Page, Page, Page, dict[str, str]]:
    """Everybody begins, each in their own way; a pull is killed, and goes on."""
    ana = month.at_studio("ana")
    expect(ana.get_by_text("Read the note.")).to_be_visible()
    ana.keyboard.press("Escape")
    month.click_through(ana, "ana", 4)
    bea, cem = month.at_page(desk, "bea", 390), month.at_page(desk, "cem", 1280)
    month.tap_through(bea, "bea", 5)
    month.tap_through(cem, "cem", 5)
    dan = desk.begin("dan")
    month.send(desk, dan, "dan", 6)
    for expert in ("ada", "ben", "cleo"):
        month.answer(expert, 6)
    month.answer("dua", 6, skipped=2)  # she skips two questions
    kill_at(month.bench, "label", "pull", proxy=proxy, method="GET", part="/api/tasks", forward=True)
    pulled = month.bench.call("label", "pull")
    assert (pulled["answers"], pulled["quarantined"]) == (4 + 4 * 6, 0)
    assert month.status()["answered"] == 4 + 4 * 6 + 5 + 5 + 6
    look = month.bench.call("label", "watch", "--once")
    assert look["passed"].get("dua", []) or look["slowest"] == "dua"
    return ana, bea, cem, dan


def second_week(month: Month, desk: Desk, ana: Page, cem: Page) -> None:
    """A neighbour tampers, an answer is spoiled, an expert goes on holiday."""
    call, people = month.bench.call, month.bench.people
    eve, project = people["eve"], month.bench.project("ana")
    led = month.open_tasks("ana")[:2]
    for task in led:
        eve.do("POST", "/api/predictions/", {"task": task["id"], "result": [region(["yes"])]})
    eve.do(
        "PATCH",
        f"/api/projects/{project}/",
        {"show_collab_predictions": True, "sampling": "Uniform sampling"},
    )
    eve.do("POST", f"/api/projects/{project}/import", [{"data": {**led[0]["data"], "text": "number 1."}}])
    for task in led:
        people["ana"].answer(task["id"], "yes")
    spoiled = month.open_tasks("ben")[0]
    eve.edit(people["ben"].answer(spoiled["id"], "no")["id"], "yes")
    month.bench.people["dua"].answer(month.open_tasks("dua")[2]["id"], "maybe")
    look = call("label", "watch", "--once")
    assert look["predictions"] == {"ana": 2}
    assert look["settings"] == {"ana": ["sampling", "show_collab_predictions"]}
    assert look["requeued"] == 4  # two of ana's after predictions, ben's edited answer, dua's "maybe"
    assert look["foreign"] == {"ana": 1}
    call("label", "push")
    assert "number 1." not in {task["data"]["text"] for task in month.bench.tasks("ana")}
    ana.reload()
    month.click_through(ana, "ana", 3)
    until = (datetime.now(UTC).date() + timedelta(days=14)).isoformat()
    call("experts", "absent", "cem", "--until", until, "--reason", "holiday")
    before = month.status()["experts"]
    moved = call("label", "reassign", "cem", "cleo", "--reason", "holiday")["moved"]
    assert moved == before["cem"]["open"]
    expect(cem.get_by_role("heading", level=1)).to_have_text(re.compile("All 5 questions are answered"))
    now = month.status()["experts"]
    assert (now["cem"]["open"], now["cleo"]["open"]) == (0, before["cleo"]["open"] + moved)
    assert now["cleo"]["queued"] == now["cleo"]["asked"]
    month.answer("cleo", 8)


def third_week(month: Month, desk: Desk, bea: Page, dan: dict[str, str]) -> None:
    """An expert leaves for good and another takes over; one question is answered on both servers."""
    call = month.bench.call
    call("label", "pull")
    before = month.status()["experts"]
    moved = call("experts", "replace", "ben", "bea")["moved"]
    assert moved == before["ben"]["open"] > 0
    call("experts", "return", "cem")
    shown = desk.state(dict(dan))["questions"][0]
    (task,) = [t for t in month.open_tasks("dan") if t["data"]["text"] == shown["text"]]
    said = month.verdict("dan", shown["text"])
    month.bench.people["dan"].answer(task["id"], "no" if said == "yes" else "yes")  # a slip
    # stored before the slip is pulled
    assert desk.answer(dict(dan), said, id=shown["id"])[0] == 200
    quarantined = len(month.status()["quarantine"])
    assert call("label", "pull")["quarantined"] == quarantined + 1
    reminders = {r["expert"]: r["text"] for r in call("label", "remind")["reminders"]}
    assert re.search(
        r"answered \d+ of \d+ questions of “A month”\. \d+ are left, about \d+ minute", reminders["ada"]
    )
    assert "ben" not in reminders


def share_tablet(month: Month, desk: Desk, tablet: Page) -> None:
    """Bea signs out of her window, dan answers in it, and bea comes back."""
    before = month.status()["experts"]
    month.change_hands(tablet, desk.codes["dan"], "dan")
    month.tap_through(tablet, "dan", 1)
    month.change_hands(tablet, desk.codes["bea"], "bea")
    month.tap_through(tablet, "bea", 1)
    now = month.status()["experts"]
    assert [now[e]["answered"] - before[e]["answered"] for e in ("bea", "dan")] == [1, 1]


def back_up(month: Month, desk: Desk, bea: Page, dan: dict[str, str]) -> dict[str, str]:
    """The study is copied while people answer; afterwards they answer more, one of them on a sheet."""
    call, folder = month.bench.call, month.bench.folder
    call("label", "export", "sheets")
    copying = subprocess.Popen(
        command("store", "copy", "backup.db", "--json"),
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
    )
    month.send(desk, dan, "dan", 4)
    month.tap_through(bea, "bea", 1)
    assert copying.wait() == 0
    month.tap_through(bea, "bea", 1)
    saved = month.answered("backup.db")
    before = month.answered()
    assert saved.items() < before.items()  # the last tap came after the backup
    month.tap_through(bea, "bea", 2)
    month.send(desk, dan, "dan", 2)
    month.answer("cleo", 4)
    assert call("label", "pull")["new"] == 4
    sheet = folder / "sheets" / "questions-ada.csv"
    given = month.fill_sheet(
        sheet, "ada", lambda row: {0: "", 2: "  ", 3: "\u00a0\t"}.get(row, None if row < 9 else "")
    )
    assert call("label", "import", sheet) == {"answers": given, "new": given}
    assert call("label", "import", sheet)["new"] == 0
    assert month.status()["answered"] == len(before) + 2 + 2 + 4 + given
    return saved


def restore(month: Month, saved: dict[str, str]) -> dict[str, str]:
    """The disk with the study is lost; the copy becomes the study. Returns what only the page had."""
    call, folder = month.bench.call, month.bench.folder
    lost = {name: way for name, way in month.answered().items() if name not in saved}
    head = call("store", "verify")["head"]
    (folder / "lost").mkdir()
    for path in folder.glob("study.db*"):
        path.rename(folder / "lost" / path.name)
    (folder / "backup.db").rename(folder / "study.db")
    for verb in ("serve", "pull", "push", "close"):
        assert "oversight store adopt" in call("label", verb, code=2)["error"]
    assert month.check_counts() == len(saved)  # a backup can be read before it is adopted
    call("store", "adopt")
    assert call("store", "verify")["holds"]
    # the head was noted after the backup, so the check fails
    assert not call("store", "verify", "--head", head, code=1)["holds"]
    assert month.answered() == saved
    sheet = folder / "sheets" / "questions-ada.csv"
    for way, words in (("label_studio", ("pull",)), ("offline", ("import", sheet))):
        again = {name for name, by in lost.items() if by == way}
        assert call("label", *words)["new"] == len(again) > 0
        assert set(month.answered()) == set(saved) | again
        saved = month.answered()
    return {name: way for name, way in lost.items() if name not in saved}


def recover(month: Month, desk: Desk, dan: dict[str, str], lost: dict[str, str]) -> None:
    """Check that dan's page asks the questions again that he answered there after the backup."""
    assert set(lost.values()) == {"page"}
    assert not lost.keys() & month.answered().keys()
    with Store(month.bench.url) as store:
        texts = {item.id: item.text for item in store.content.read_items()}
        again = [
            texts[q.item_id] for q in store.content.read_questions() if q.id in lost and q.expert == "dan"
        ]
    assert len(again) >= 2
    assert {*again} <= {shown["text"] for shown in desk.state(dict(dan))["questions"]}


def last_week(month: Month, desk: Desk, ana: Page, bea: Page, dan: dict[str, str]) -> None:
    """Everybody finishes but dua, who never answers what she put off."""
    month.bench.call("label", "push")
    ana.reload()
    month.click_through(ana, "ana", len(month.open_tasks("ana")))
    month.answer("cleo", N)
    month.answer("dua", N, skipped=2)
    sheet = month.bench.folder / "sheets" / "questions-ada.csv"
    given = month.fill_sheet(sheet, "ada", lambda row: None)
    read = month.bench.call("label", "import", sheet)
    assert read["answers"] == given > read["new"] > 0
    while desk.state(dict(dan))["questions"]:
        month.send(desk, dan, "dan", 1)
    month.bench.call("label", "pull")
    month.tap_through(bea, "bea", month.status()["experts"]["bea"]["open"])


def change_items(month: Month, bea: Page) -> None:
    """One item is removed with its text, another is corrected and asked again."""
    call, before = month.bench.call, month.status()
    removed, corrected = (month.find_answered(expert) for expert in ("ada", "bea"))
    call("items", "remove", removed, "--reason", "the patient withdrew", "--erase")
    assert month.status()["answered"] == before["answered"] - 1
    month.check_counts()
    items = month.bench.folder / "items.csv"
    number = corrected.removeprefix("i")
    items.write_text(items.read_text().replace(f"number {number}.", f"number {number}. Corrected"))
    again = call("items", "correct", corrected, "--reason", "a typo", "--answers", "withdraw")
    assert (again["answers"], again["predictions"]) == (1, 1)
    answers = month.bench.folder / "answers.csv"
    answers.write_text(re.sub(rf"^{removed},.*\n", "", answers.read_text(), flags=re.MULTILINE))
    call("predictions", "import", "answers.csv", "--model", "m")
    assert month.status()["experts"]["bea"]["open"] == 1
    month.check_counts()
    bea.reload()
    month.tap_through(bea, "bea", 1)
    assert month.status()["asked"] == month.status()["answered"] + 2 == N - 1


def change_mind(month: Month, bea: Page) -> None:
    """Bea changes her newest answer to a wrong one, and back."""
    before = month.status()
    for is_right in (False, True):
        bea.reload()
        with bea.expect_response(lambda r: "api/given" in r.url) as given:
            bea.get_by_role("button", name="My answers").click()
        bea.locator(".given").first.click()
        newest = given.value.json()["given"][0]["id"]
        bea.wait_for_function("(newest) => document.body.dataset.ready === newest", arg=newest)
        said = month.verdict("bea", bea.locator("#text").inner_text())
        said = said if is_right else {"yes": "no", "no": "yes"}[said]
        with bea.expect_response(lambda r: r.request.method == "POST" and r.ok):
            bea.locator(f'button[data-value="{said}"]').click()
    now = month.status()
    assert now["answered"] == before["answered"]
    assert now["experts"]["bea"]["revised"] == before["experts"]["bea"]["revised"] + 1


def erase_ben(month: Month) -> None:
    """Ben, whom bea replaced, is erased; his answers stay under another name."""
    call, roster = month.bench.call, month.bench.folder / "experts.toml"
    answers = month.status()["experts"]["ben"]["answered"]
    head = call("store", "verify")["head"]
    assert "ben" in call("experts", "erase", "ben", code=2)["error"]
    entries = roster.read_text().split("[[expert]]")
    roster.write_text("[[expert]]".join(entry for entry in entries if '"ben"' not in entry))
    assert call("experts", "erase", "ben")["answers"] == answers
    assert "ben" not in month.status()["experts"]
    assert b"ben@example.org" not in (month.bench.folder / "study.db").read_bytes()
    assert call("store", "verify", "--head", head)["holds"]
    call("label", "pull")


def holds(month: Month) -> None:
    """Every question is answered once or missing for a reason; the estimate covers; the trail is whole."""
    call = month.bench.call
    closed = call("label", "close")
    assert closed["open"] == {"dua": 2}
    shown = month.status()
    assert (shown["asked"], shown["answered"], shown["open"]) == (N - 1, N - 3, 2)
    with Store(month.bench.url) as store:
        answers = Counter(a.question.id for a in store.content.read_answers())
        texts = {item.id: item.text for item in store.content.read_items()}
        for a in store.content.read_answers():
            assert a.verdict.value == month.verdict(a.question.expert, texts[a.question.item_id])
    assert set(answers.values()) == {1}
    assert len(answers) == N - 3
    shown = call("estimate")["models"]["m"]
    found = shown["estimates"]["ml"]
    assert found["low"] <= month.accuracy <= found["high"]
    assert (shown["items"]["labelled"], shown["items"]["unlabelled"]) == (N - 3, 2)
    assert call("store", "verify")["holds"]
    head = call("label", "audit", "audit.jsonl")["head"]
    assert call("store", "verify", "audit.jsonl", "--head", head)["holds"]
