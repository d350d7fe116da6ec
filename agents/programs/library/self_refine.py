"""Self-refinement: answer, criticise, answer again, until the critic is content."""

from oversight.agents.workflow import Record, Task

ROUNDS = 5
TEMPERATURE = 0.5
INSTRUCTION = "Think step by step, then answer."
CRITIQUE = (
    "Look at the answer above and criticise where it may be wrong. If you are certain that it is right, "
    "set correct to True, else to False."
)
REFLECT = "Given earlier attempts and the criticism of them, go through it again with care and answer better."


async def forward(task: Task) -> Record:
    """2 to 1 + 2 × ROUNDS calls: every criticism but a content one is followed by another attempt."""
    context: list[Task | Record] = [task]
    thinking, answer = await task.ask(
        ["thinking", "answer"], context, INSTRUCTION, temperature=TEMPERATURE, turn=0
    )
    for turn in range(1, ROUNDS + 1):
        feedback, correct = await task.ask(
            ["feedback", "correct"],
            [task, thinking, answer],
            CRITIQUE,
            name="critic",
            temperature=TEMPERATURE,
            turn=turn,
            choices={"correct": ["True", "False"]},
        )
        if correct.content.strip().lower() == "true":
            break
        context = [*context, thinking, answer, feedback]
        thinking, answer = await task.ask(
            ["thinking", "answer"], context, REFLECT, temperature=TEMPERATURE, turn=turn
        )
    return answer
