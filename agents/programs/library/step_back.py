"""Step back: state the principles that the question rests on, then solve it with them at hand."""

from oversight.agents.workflow import Record, Task

TEMPERATURE = 0.5
PRINCIPLES = (
    "What knowledge and principles does this question rest on? Think first, then list them and explain "
    "each briefly."
)
SOLVE = "Given the question and the principles behind it, think step by step, then answer."


async def forward(task: Task) -> Record:
    """Two calls."""
    thinking, principle = await task.ask(
        ["thinking", "principle"], [task], PRINCIPLES, name="theorist", temperature=TEMPERATURE
    )
    _, answer = await task.ask(
        ["thinking", "answer"], [task, thinking, principle], SOLVE, temperature=TEMPERATURE
    )
    return answer
