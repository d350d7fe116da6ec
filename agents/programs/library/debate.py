"""Debate: the study's experts answer, read each other's reasoning, answer again; a judge decides."""

import asyncio

from oversight.agents.workflow import Record, Role, Task

ROUNDS = 2
DEBATERS = 4
TEMPERATURE = 0.8
JUDGE_TEMPERATURE = 0.1
INSTRUCTION = "Think step by step, then answer."
DEBATE = "Weigh what the other experts thought as advice, think again, and give your updated answer."
JUDGE = "Given all of the above, reason over it carefully and give the final answer."


async def forward(task: Task) -> Record:
    """ROUNDS × debaters + 1 calls; the last DEBATERS roles take part, so the generalist always does."""
    roles = task.roles[-DEBATERS:]
    thoughts: list[Record] = []
    answers: list[Record] = []
    for turn in range(ROUNDS):
        replies = await asyncio.gather(
            *[_speak(task, role, thoughts, j, turn) for j, role in enumerate(roles)]
        )
        thoughts = [thinking for thinking, _ in replies]
        answers = [answer for _, answer in replies]
    _, final = await task.ask(
        ["thinking", "answer"],
        [task, *thoughts, *answers],
        JUDGE,
        name="judge",
        temperature=JUDGE_TEMPERATURE,
    )
    return final


async def _speak(task: Task, role: Role, thoughts: list[Record], j: int, turn: int) -> list[Record]:
    """One debater's call; its own earlier reasoning comes first, and no answers are passed on."""
    others = thoughts[j : j + 1] + thoughts[:j] + thoughts[j + 1 :]
    return await task.ask(
        ["thinking", "answer"],
        [task, *others],
        DEBATE if thoughts else INSTRUCTION,
        name=role.name,
        role=role,
        temperature=TEMPERATURE,
        turn=turn,
    )
