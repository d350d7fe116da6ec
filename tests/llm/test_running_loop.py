"""A notebook has a loop that runs already: models are asked beside it."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

import oversight as ov

ITEMS = [ov.Item(f"i{j}", f"text {j}", ("yes", "no"), (0, 1)) for j in range(8)]


def says_yes(_prompt: str) -> str:
    return "yes"


def test_models_are_asked_where_a_loop_runs(tmp_path: Path) -> None:
    async def cell() -> list[ov.Prediction]:
        return ov.run(says_yes, ITEMS, store=str(tmp_path / "s.db"))

    assert [p.option for p in asyncio.run(cell())] == [0] * 8


def test_an_interrupt_of_the_cell_stops_the_work(tmp_path: Path) -> None:
    asked = []

    def interrupts(prompt: str) -> str:
        asked.append(prompt)
        if len(asked) == 1:  # a second signal could arrive after the cell has ended
            os.kill(os.getpid(), signal.SIGINT)
        return "yes"

    many = [ov.Item(f"i{j}", f"text {j}", ("yes", "no"), (0, 1)) for j in range(2000)]

    async def cell() -> None:
        # Notebook kernels use Python's own handler; asyncio.Runner would replace it.
        was = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            ov.run(interrupts, many, store=str(tmp_path / "s.db"), concurrency=1)
        finally:
            signal.signal(signal.SIGINT, was)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell())
    assert 0 < len(asked) < len(many)
    assert len(ov.run(says_yes, many, store=str(tmp_path / "s.db"))) == len(many)
