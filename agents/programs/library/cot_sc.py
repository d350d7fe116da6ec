"""Self-consistency: several independent chains of thought, and the most frequent answer."""

import asyncio

from oversight.agents.workflow import Record, Task, vote

SAMPLES = 5
TEMPERATURE = 0.8
INSTRUCTION = "Think step by step, then answer."


async def forward(task: Task) -> Record:
    """SAMPLES calls; the answer that came first wins a tie."""
    calls = [
        task.ask(["thinking", "answer"], [task], INSTRUCTION, temperature=TEMPERATURE) for _ in range(SAMPLES)
    ]
    winner: Record = vote([answer for _, answer in await asyncio.gather(*calls)])
    return winner
