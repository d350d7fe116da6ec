"""Role assignment: a router picks the expert whose field it is, and that expert answers."""

from oversight.agents.workflow import Record, Task

TEMPERATURE = 0.5
ROUTE = "Which of these experts should answer this question? Choose one of: "
INSTRUCTION = "Think step by step, then answer."


async def forward(task: Task) -> Record:
    """Two calls; if the router names nobody, the last role (the generalist) answers."""
    names = [role.name for role in task.roles]
    (choice,) = await task.ask(
        ["choice"],
        [task],
        ROUTE + ", ".join(names) + ".",
        name="router",
        temperature=TEMPERATURE,
        choices={"choice": names},
    )
    _, answer = await task.ask(
        ["thinking", "answer"], [task], INSTRUCTION, role=task.role(choice.content), temperature=TEMPERATURE
    )
    return answer
