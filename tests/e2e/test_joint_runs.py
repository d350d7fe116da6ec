"""Several processes make one run together: every item is asked about once; rates and budgets are shared."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.conftest import empty_server
from tests.e2e.joint import answer_until, finish, joint_study, slowly
from tests.e2e.test_kill import CONCURRENCY
from tests.fakes.openai_server import Reply

pytestmark = pytest.mark.slow

N = 200


@pytest.fixture
def database(postgresql: str) -> str:
    empty_server(postgresql)
    return postgresql


def test_the_same_command_twice_and_a_worker_that_joins_pay_once(database: str, tmp_path: Path) -> None:
    hold, go = answer_until(0)
    with joint_study(tmp_path, database, N, hold) as study:
        first, second = study.run("--json"), study.run("--json")
        study.wait_for_calls(1)
        third = study.join("--json")
        study.wait_for_workers(3)
        go.set()
        said = finish(first, second, third)
        assert study.count_repeats() == 0
        books = study.read_books()
    assert books.answers == {"ok": N}
    assert (books.requests, books.lost, books.late, books.open) == (N, 0, 0, 0)
    asked = [json.loads(text[: text.rindex("\n}") + 2])["models"]["m"]["asked_now"] for text in said]
    assert sum(asked) == N
    assert min(asked) > 0


def test_of_a_killed_worker_nothing_is_lost_and_what_it_had_under_way_is_counted(
    database: str, tmp_path: Path
) -> None:
    endpoint, go = answer_until(60)
    with joint_study(tmp_path, database, N, endpoint) as study:
        first, second = study.run("--lease", "2s"), study.run("--lease", "2s")
        study.wait_for_calls(60 + 2 * CONCURRENCY)  # both have all under way that they may
        first.send_signal(signal.SIGKILL)
        go.set()
        [said] = finish(second)
        books, calls = study.read_books(), len(study.server.prompts)
        assert study.count_repeats() == books.lost == CONCURRENCY
        assert f"{books.lost} answer" in said
    assert books.answers == {"ok": N}
    assert calls <= books.requests <= calls + books.lost
    assert books.open == 0


def test_with_hold_nothing_is_paid_twice(database: str, tmp_path: Path) -> None:
    endpoint, go = answer_until(60)
    with joint_study(tmp_path, database, N, endpoint) as study:
        terms = ("--lease", "2s", "--uncertain", "hold")
        first, second = study.run(*terms), study.run(*terms)
        study.wait_for_calls(60 + 2 * CONCURRENCY)  # both have all under way that they may
        first.send_signal(signal.SIGKILL)
        go.set()
        finish(second, code=1)  # as some failed
        held = study.read_books()
        assert study.count_repeats() == 0
        assert held.answers["failed"] == CONCURRENCY
        assert held.reasons == {"lost": CONCURRENCY}
        assert held.lost == 0
        finish(study.run("--retry-errors"))
        books, calls = study.read_books(), len(study.server.prompts)
    assert books.answers == {"ok": N}
    assert books.requests == calls


def test_with_hold_a_lone_command_pays_nothing_twice_either(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    endpoint, go = answer_until(60)
    with joint_study(tmp_path, url, N, endpoint) as study:
        first = study.run("--uncertain", "hold")
        study.wait_for_calls(60 + CONCURRENCY)
        first.send_signal(signal.SIGKILL)
        first.wait()
        go.set()
        finish(study.run("--uncertain", "hold"), code=1)
        assert study.count_repeats() == 0
        assert study.read_books().answers["failed"] == CONCURRENCY
        finish(study.run("--retry-errors"))
        assert study.read_books().answers == {"ok": N}


@pytest.mark.parametrize("kill", [False, True])
def test_one_cap_holds_for_all(*, kill: bool, database: str, tmp_path: Path) -> None:
    # a call may use 20 tokens received and some 40 sent; it is billed for 10 in all: $0.0001
    cap = ("--budget-usd", "0.01", "--lease", "2s")
    with joint_study(tmp_path, database, N, slowly) as study:
        workers = [study.run(*cap) for _ in range(3)]
        if kill:
            study.wait_for_calls(40)
            workers.pop().kill()
        said = finish(*workers, code=1)
        assert all("the budget of $0.01 is spent" in text for text in said)
        spent = sum(sent + received for sent, received in study.server.bill) * 10 / 1e6
        books = study.read_books()
    assert spent <= 0.01
    assert books.tokens * 10 / 1e6 <= 0.01
    assert books.answers["ok"] >= (80 if kill else 90)


def test_a_cap_counts_what_killed_commands_had_under_way(database: str, tmp_path: Path) -> None:
    cap = ("--budget-requests", "100")
    with joint_study(tmp_path, database, N, slowly) as study:
        for calls in (30, 60):
            workers = [study.run(*cap), study.run(*cap)]
            study.wait_for_calls(calls)
            for worker in workers:
                worker.kill()
                worker.wait()
        finish(study.run(*cap), code=1)
        assert len(study.server.prompts) <= study.read_books().requests <= 100


def test_one_rate_is_shared_by_all(database: str, tmp_path: Path) -> None:
    came = list[float]()

    def note(prompt: str, n: int) -> Reply:
        came.append(time.monotonic())
        return Reply("green")

    with joint_study(tmp_path, database, N, note) as study:
        file = tmp_path / "study.toml"
        text = file.read_text().replace(f'"{study.server.url}"', '"limited"')
        file.write_text(
            f'{text}[endpoints.limited]\nurl = "{study.server.url}"\nrequests_per_minute = 3000\n'
        )
        finish(study.run(), study.run(), study.run())
    busiest = max(sum(start <= at < start + 1 for at in came) for start in came)
    assert busiest <= 62  # 50 a second, and what three processes may send at once


def test_who_wants_it_otherwise_is_refused(database: str, tmp_path: Path) -> None:
    hold, go = answer_until(0)
    with joint_study(tmp_path, database, N, hold) as study:
        first = study.run()
        study.wait_for_calls(1)
        for words, what in (
            (["--budget-tokens", "9"], "with other tokens"),
            (["--uncertain", "hold"], "with other uncertain"),
            (["--sample", "20"], "with other items, sample"),
            (["--batch"], "has been working on this run since"),
        ):
            [said] = finish(study.run(*words), code=1)
            assert f"process {first.pid} on" in said
            assert what in said
        go.set()
        finish(first)
        assert study.count_repeats() == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["run", "--lease", "5s"], "in a file one process works at a time"),
        (["run", "--workflow", "cot", "--uncertain", "hold"], "--uncertain does not go with --workflow"),
        (["worker", "--join", "study.db"], "give the address of a database on a server"),
        (["worker", "--join", "postgresql://u:secret@h/d"], "password"),
    ],
)
def test_what_cannot_be_done_is_refused(words: list[str], why: str, tmp_path: Path) -> None:
    with joint_study(tmp_path, f"sqlite:///{tmp_path / 'study.db'}", 3, slowly) as study:
        [said] = finish(study.run(*words[1:], verb=words[0]), code=2)
    assert why in said
    assert "secret" not in said


def test_a_worker_that_stays_works_until_a_signal_comes(database: str, tmp_path: Path) -> None:
    with joint_study(tmp_path, database, N, slowly) as study:
        staying = study.join("--stay")
        finish(study.run())
        study.wait_for_workers(0)
        staying.send_signal(signal.SIGTERM)
        finish(staying)
        assert study.read_books().answers == {"ok": N}


def test_a_key_that_is_refused_costs_nothing(database: str, tmp_path: Path) -> None:
    with joint_study(tmp_path, database, N, lambda prompt, n: Reply(status=401, body="{}")) as study:
        said = finish(study.run(), study.run(), code=1)
        assert all("HTTP 401" in text for text in said)
        assert study.read_books().tokens == 0


def test_a_worker_says_what_it_cannot_join(database: str, tmp_path: Path) -> None:
    with joint_study(tmp_path, database, 3, slowly) as study:
        [said] = finish(study.join())
        assert "no run is under way there" in said
