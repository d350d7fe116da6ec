"""Chain of thought: one call that reasons before it answers."""

from oversight.agents.workflow import Record, Task

TEMPERATURE = 0.5
INSTRUCTION = "Think step by step, then answer."


async def forward(task: Task) -> Record:
    """One call."""
    _, answer = await task.ask(["thinking", "answer"], [task], INSTRUCTION, temperature=TEMPERATURE)
    return answer
