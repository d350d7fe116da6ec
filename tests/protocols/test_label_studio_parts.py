"""Names, pages, queues, connections, exports and the balanced share, without a server."""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from oversight.harness import ConfigError, DataError
from oversight.harness.types import Answer, Question, Verdict
from oversight.protocols.collect import Connection, make_server_name, make_verdict_page, start_server
from oversight.protocols.collect.label_studio.accounts import make_account_email, make_slug
from oversight.protocols.collect.label_studio.labelling_page import check_page, is_same_page, make_panel_page
from oversight.protocols.collect.label_studio.push import make_project_title
from oversight.protocols.collect.label_studio.queues import plan_queues, plan_tasks
from oversight.protocols.collect.label_studio.server.connection import connect
from oversight.protocols.routing import Expert, Roster

ROSTER = Roster((Expert("ana", ("a",)), Expert("Bea B.", ("b",), email="Bea@Example.org")), "experts.toml")


def question(number: int, expert: str = "ana") -> Question:
    return Question(f"q{number}", f"i{number}", 0, expert, 2, "partitioned", 0.5, 7)


def jwt(claims: dict[str, Any]) -> str:
    middle = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{middle}.x"


def test_different_names_stay_different() -> None:
    names = ["ana", "Ana", "ANA", "a na", "a-na", "é", "ü", "", "x" * 99, "x" * 98]
    assert len({make_slug(name) for name in names}) == len(names)
    assert len({make_account_email(Expert(name, ("a",)), "s") for name in names}) == len(names)
    assert make_slug("ana") == "ana"
    assert make_account_email(Expert("ana", ("a",), email="Ana@X.org"), "s") == "ana@x.org"
    assert make_server_name("study", "ana") == "study--ana"
    assert len(make_project_title("", "a")) >= 3
    assert len(make_project_title("s" * 99, "ana")) == 50


@pytest.mark.parametrize("page", [make_verdict_page(), make_verdict_page(options=True, descriptions=True)])
def test_own_pages_pass_their_own_check(page: str) -> None:
    assert check_page(page, "p.xml") == page
    assert is_same_page(page, page.replace('"/>', '" />'))
    assert not is_same_page(page, page.replace('hotkey="y"', 'hotkey="n"'))
    assert not is_same_page(page, "<View>")


def test_panel_page_keeps_odd_names_as_they_are() -> None:
    names = ['a "b" & <c>', "d"] + [f"o{j}" for j in range(10)]
    choices = list(ET.fromstring(make_panel_page(names)).iter("Choice"))  # noqa: S314  our own
    assert [c.get("value") for c in choices] == names
    assert [c.get("alias") for c in choices] == [str(j) for j in range(12)]
    hotkeys = [c.get("hotkey") for c in choices if c.get("hotkey")]
    assert len(set(hotkeys)) == len(hotkeys) == 9


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<View>\n<a", "p.xml:2: the page is not valid XML"),
        ("<View/>", 'needs one <Choices name="verdict">'),
        (make_verdict_page().replace('alias="unsure"', 'alias="dunno"'), "p.xml:1 [verdict]: the page lacks"),
        (make_verdict_page().replace("single-radio", "multiple"), "one verdict only"),
        (
            make_verdict_page().replace("</Choices>", '<Choice value="maybe"/></Choices>'),
            "unknown verdict 'maybe'",
        ),
    ],
)
def test_pages_that_cannot_work(page: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        check_page(page, "p.xml")
    assert message in str(caught.value)


def test_orders_are_drawn_per_expert_and_stay() -> None:
    asked = [question(j, "ana" if j % 2 else "Bea B.") for j in range(40)]
    data = {q.id: {"text": q.id} for q in asked}
    tasks = plan_tasks(asked, data, [])
    assert tasks == plan_tasks(asked, data, [])
    for expert in ("ana", "Bea B."):
        queue = sorted((t for t in tasks if t.expert == expert), key=lambda t: t.place)
        assert [t.place for t in queue] == list(range(20))
        assert [t.question_id for t in queue] != [q.id for q in asked if q.expert == expert]
    later = plan_tasks([*asked, question(99)], {**data, "q99": {}}, tasks)
    assert [(t.question_id, t.place) for t in later] == [("q99", 20)]


def test_queues_follow_the_roster() -> None:
    first = plan_queues(ROSTER, [question(1), question(2, "Bea B.")], {}, "s")
    assert [q.email for q in first] == ["ana.s@experts.invalid", "bea@example.org"]
    assert len({q.marker for q in first}) == 2
    known = {q.expert: q for q in first}
    assert plan_queues(ROSTER, [question(1)], known, "s") == []
    # an address that was made up before studies were told apart goes on
    before = {"ana": replace(known["ana"], email="ana@experts.invalid")}
    assert plan_queues(ROSTER, [question(1)], before, "s") == []
    moved = Roster((Expert("ana", ("a",), email="new@x.org"),), "r")
    (changed,) = plan_queues(moved, [question(1)], known, "s")
    assert (changed.marker, changed.email, changed.user_id) == (known["ana"].marker, "new@x.org", None)
    twice = Roster((Expert("a", ("a",), email="X@y.org"), Expert("b", ("b",), email="x@Y.org")), "r.toml")
    with pytest.raises(DataError, match=r"r.toml \[email\]: expert 'b'"):
        plan_queues(twice, [], {}, "s")


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("0" * 40, "legacy"),
        ("a.b.c", "legacy"),
        (jwt({"token_type": "refresh"}), "personal"),
        (jwt({"token_type": "access"}), "access"),
    ],
)
def test_kinds_of_tokens(token: str, kind: str) -> None:
    connection = Connection("https://labels.example.org", token)
    assert connection.kind == kind
    assert token not in repr(connection)
    assert not connection.is_local


@pytest.mark.parametrize(
    ("url", "key", "message"),
    [
        ("http://x", "", "LABEL_STUDIO_URL is set, but LABEL_STUDIO_API_KEY is not"),
        ("", "k", "LABEL_STUDIO_API_KEY is set, but LABEL_STUDIO_URL is not"),
        ("labels.example.org", "k", "must be an address such as https://"),
        ("https://me:pw@labels.example.org", "k", "must not hold a user or password"),
        ("https://x", "a b", "holds blanks"),
    ],
)
def test_half_an_environment(url: str, key: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABEL_STUDIO_URL", url)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", key)
    with pytest.raises(ConfigError, match=message):
        connect()


def test_no_server_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    monkeypatch.setenv("OVERSIGHT_CACHE", str(tmp_path))
    monkeypatch.setenv("OVERSIGHT_DATA", str(tmp_path))
    with pytest.raises(ConfigError, match="oversight server start label-studio"):
        connect()


@pytest.mark.statistical
def test_unequal_speed_does_not_bend_the_running_estimate() -> None:
    """With one expert far ahead, all answers mislead and the common share does not."""
    from oversight.harness.estimate import accuracy, decode
    from oversight.harness.types import Prediction
    from tests.records import estimate_anytime

    rng = np.random.default_rng(5)
    plain, fair, covered, runs = [], [], 0, 60
    for _ in range(runs):
        n, truth = 600, rng.choice(3, p=(0.7, 0.2, 0.1), size=600)
        right = rng.random(n) < np.where(truth == 0, 0.9, 0.5)  # class 0 is common and easy
        predicted = np.where(right, truth, (truth + 1) % 3)
        option = rng.integers(3, size=n)
        limits = {"e0": 10_000, "e1": 60, "e2": 100}
        questions = [
            Question(f"q{j}", f"i{j}", int(option[j]), f"e{option[j]}", 3, "partitioned", 1 / 3, 0, place=j)
            for j in range(n)
        ]
        answers = []
        for j, q in enumerate(questions):
            limits[q.expert] -= 1
            if limits[q.expert] >= 0:
                yes = truth[j] == option[j]
                answers.append(Answer(q, q.expert, Verdict.YES if yes else Verdict.NO, "t"))
        predictions = [Prediction(f"i{j}", int(predicted[j])) for j in range(n)]
        fair.append(accuracy(predictions, decode(answers, questions), interval="anytime"))
        plain.append(estimate_anytime(predictions, decode(answers)))
        covered += fair[-1].low <= 0.78 <= fair[-1].high
    assert np.mean([e.value for e in fair]) == pytest.approx(0.78, abs=0.02)
    assert np.mean([e.value for e in plain]) > 0.80
    assert covered >= 0.95 * runs


def test_running_estimate_of_items_of_different_k_and_unreadable_ones() -> None:
    from oversight.harness import EstimateError
    from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus
    from tests.records import estimate_anytime

    labels = [Label(f"a{j}", 0, LabelKind.ORDINARY, 2, 0.5) for j in range(40)]
    labels += [Label(f"b{j}", 0, LabelKind.ORDINARY, 4, 0.25) for j in range(40)]
    good = [Prediction(label.item_id, 0) for label in labels]
    options = {label.item_id: label.n_options for label in labels}
    whole = estimate_anytime(good, labels, n_options=options)
    assert whole.value == pytest.approx(1.0, abs=1e-6)
    assert whole.low < estimate_anytime(good[:40], labels[:40]).value
    half = [*good[:40], *(Prediction(f"b{j}", None, PredictionStatus.UNREADABLE) for j in range(40))]
    assert estimate_anytime(half, labels, n_options=options).value == pytest.approx(0.5, abs=1e-6)
    # Asked only about what it predicted, as the targeted protocol does: the others are wrong all the same.
    assert estimate_anytime(half, labels[:40], n_options=options).value == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(EstimateError, match="labels must not be empty"):
        estimate_anytime(good, [], n_options=options)
    with pytest.raises(EstimateError, match="must be given where K varies"):
        estimate_anytime(good, labels)
    with pytest.raises(EstimateError, match="there is none for K = 4"):
        estimate_anytime(good, labels[:40], n_options=options)


def test_where_locks_cannot_be_passed_on_there_is_no_server_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on Windows: what talks to a server elsewhere works, starting one says what to do."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(ConfigError, match="run on Linux and macOS; here, name one that runs elsewhere"):
        start_server(folder=tmp_path)
    monkeypatch.setenv("LABEL_STUDIO_URL", "https://labels.example.org")
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "t" * 40)
    assert connect().url == "https://labels.example.org"
