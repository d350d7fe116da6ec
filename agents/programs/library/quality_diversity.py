"""Quality and diversity: several attempts, each by another way than those before; a judge decides."""

from oversight.agents.workflow import Record, Task

ATTEMPTS = 4
TEMPERATURE = 0.5
JUDGE_TEMPERATURE = 0.1
INSTRUCTION = "Think step by step, then answer."
DIFFERENT = "Given the attempts above, solve it in another, interestingly different way, then answer."
JUDGE = "Given all the attempts above, reason over them carefully and give the final answer."


async def forward(task: Task) -> Record:
    """ATTEMPTS + 1 calls; each attempt sees all the ones before."""
    context: list[Task | Record] = [task]
    for turn in range(ATTEMPTS):
        instruction = DIFFERENT if turn else INSTRUCTION
        attempt = await task.ask(
            ["thinking", "answer"], context, instruction, temperature=TEMPERATURE, turn=turn
        )
        context = [*context, *attempt]
    _, final = await task.ask(
        ["thinking", "answer"], context, JUDGE, name="judge", temperature=JUDGE_TEMPERATURE
    )
    return final
