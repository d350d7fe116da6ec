"""A workflow's run on several workers: every call once, budgets shared, lost calls made again or held."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from benchmarks.servers import empty_server
from oversight.harness.store import Store
from tests.e2e.joint import JointStudy, answer_until, finish, joint_study
from tests.fakes.openai_server import Reply

pytestmark = pytest.mark.slow

N = 60
CALLS = 5 * N
CONCURRENCY = 4
WORDS = ("--workflow", "cot-sc", "--lease", "2s")


@pytest.fixture
def database(postgresql: str) -> str:
    empty_server(postgresql)
    return postgresql


def reply_slowly(prompt: str, n: int) -> Reply:
    return Reply(json.dumps({"answer": "B", "thinking": ""}), stall=0.02)


def read_money(study: JointStudy) -> tuple[int, int, int]:
    """Requests that were paid and that were lost, and answers that stand."""
    with Store(study.url) as store:
        [run] = store.runs.read_runs()
        assert store.program_work.find_works() == []
        spent, lost = store.reservations.read_spent(run["id"]), store.reservations.read_charge(run["id"])
        assert spent is not None
        answers = sum(p.status.value == "ok" for p in store.runs.read_predictions(run["id"]))
        return spent.requests, lost.requests, answers


def test_helpers_answer_too_and_nothing_is_paid_twice(database: str, tmp_path: Path) -> None:
    hold, go = answer_until(0, reply_slowly)
    with joint_study(tmp_path, database, N, hold) as study:
        helper = study.join("--stay", "--json")
        begun = study.run(*WORDS, "--json")
        study.wait_for_help()
        go.set()
        [said] = finish(begun)
        helper.send_signal(signal.SIGTERM)
        [helped] = finish(helper)
        assert len(study.server.prompts) == CALLS
        assert read_money(study) == (CALLS, 0, N)
    assert f'"calls_paid": {CALLS}' in said
    found = json.loads(helped[helped.index("{") : helped.rindex("\n}") + 2])
    assert found["programs"]["m/cot-sc"]["asked_now"] > 0


@pytest.mark.parametrize("uncertain", ["retry", "hold"])
def test_a_killed_helper_s_calls_are_made_again_or_held(
    uncertain: str, database: str, tmp_path: Path
) -> None:
    endpoint, go = answer_until(CALLS // 3, reply_slowly)
    with joint_study(tmp_path, database, N, endpoint) as study:
        helper = study.join("--stay")
        begun = study.run(*WORDS, "--uncertain", uncertain)
        study.wait_for_calls(CALLS // 3 + 2 * CONCURRENCY)  # both have all under way that they may
        helper.kill()
        go.set()
        [said] = finish(begun, code=0 if uncertain == "retry" else 1)
        paid, lost, answers = read_money(study)
        assert lost == CONCURRENCY
        assert paid + lost >= len(study.server.prompts)
        if uncertain == "retry":
            assert answers == N
            assert len(study.server.prompts) - CALLS <= lost
            return
        assert "failed: lost" in said
        assert N - lost <= answers < N
        assert len(study.server.prompts) <= CALLS
        finish(study.run(*WORDS, "--retry-errors"))
        assert read_money(study)[2] == N


def test_one_cap_holds_for_all(database: str, tmp_path: Path) -> None:
    with joint_study(tmp_path, database, N, reply_slowly) as study:
        helper = study.join("--stay")
        for cap in (80, 190):
            [said] = finish(study.run(*WORDS, "--budget-requests", str(cap)), code=1)
            assert "requests is spent" in said
            assert cap - 20 <= len(study.server.prompts) <= cap
        finish(study.run(*WORDS))
        assert len(study.server.prompts) == CALLS
        assert read_money(study) == (CALLS, 0, N)
        helper.send_signal(signal.SIGTERM)
        helper.communicate()  # which may have been stopped by a cap
