"""The writer: group commit, and nobody goes on before their row is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from oversight.harness.llm import Batches, Price, Progress, Request
from oversight.harness.llm.models.limited_model import TokenGuess
from oversight.harness.types import Prediction, PredictionStatus


def test_batches_are_written_together_before_any_task_continues() -> None:
    batches: list[list[int]] = []
    stored: set[int] = set()

    def write(rows: Sequence[int]) -> None:
        batches.append(list(rows))
        stored.update(rows)

    async def worker(writer: Batches[int, None], start: int) -> None:
        for row in range(start, 60, 6):
            await writer.add_request(row)
            assert row in stored

    async def work() -> None:
        with Batches[int, None](write, 6) as writer:
            await asyncio.gather(*(worker(writer, j) for j in range(6)))

    asyncio.run(work())
    assert sorted(row for batch in batches for row in batch) == list(range(60))
    assert [len(batch) for batch in batches] == [6] * 10  # all waiting rows are written in one transaction


def test_finished_rows_are_written_however_the_work_ends() -> None:
    written: list[int] = []

    async def work() -> None:
        with Batches[int, None](written.extend, 10) as writer:
            waiting = asyncio.create_task(writer.add_request(1))
            await asyncio.sleep(0)
            waiting.cancel()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert written == [1]


def test_failed_write_reaches_all_waiting_tasks() -> None:
    def write(rows: Sequence[int]) -> None:
        raise OSError("disk full")

    async def work() -> list[BaseException | None]:
        with Batches[int, None](write, 4) as writer:
            return await asyncio.gather(*(writer.add_request(j) for j in range(2)), return_exceptions=True)

    assert [str(error) for error in asyncio.run(work())] == ["disk full", "disk full"]


def test_the_bar_shows_cost_so_far_expected_total_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(4, 0, "m", {"run": Price(1e6, 0.0)}) as progress:
        progress.wrote([("run", Prediction("a", 0, input_tokens=3))])
        failed = Prediction("b", None, PredictionStatus.FAILED, "timeout: no answer", input_tokens=1)
        progress.wrote([("run", failed)])
    assert "$4 of ~$8, 1 timeout" in capsys.readouterr().err


def test_guesses_of_tokens_learn_and_stay_above() -> None:
    guess = TokenGuess()
    request = Request.of("x" * 3000)
    assert guess.guess(request) == (1008, 1024)
    guess.learn(request, 0, 0)  # the endpoint did not report usage
    assert guess.guess(request) == (1008, 1024)
    guess.learn(request, 508, 20)
    assert guess.guess(request) == (633, 25)
    assert guess.guess(Request.of("x", max_tokens=7))[1] == 7
