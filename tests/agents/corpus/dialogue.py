# ruff: noqa: E501  sources as models write them

"""Workflows in which calls read, criticise and route each other."""

DIALOGUE = {
    "self-check": """
async def forward(task):
    thinking, answer = await task.ask(["thinking", "answer"])
    for turn in range(3):
        feedback, correct = await task.ask(
            ["feedback", "correct"], [task, thinking, answer], "Check it.", name="critic", turn=turn
        )
        if correct.content == "True":
            break
        thinking, answer = await task.ask(["thinking", "answer"], [task, thinking, answer, feedback], turn=turn)
    return answer
""",
    "class-agent": """
class Agent:
    def __init__(self, task, name, role):
        self.task = task
        self.name = name
        self.role = role
        self.memory = []

    async def speak(self, instruction, turn):
        thinking, answer = await self.task.ask(
            ["thinking", "answer"], [self.task] + self.memory, instruction, name=self.name, role=self.role, turn=turn
        )
        self.memory.append(thinking)
        return answer

async def forward(task):
    agents = [Agent(task, f"expert {i}", role) for i, role in enumerate(task.roles)]
    last = None
    for turn in range(2):
        for agent in agents:
            last = await agent.speak("Continue the discussion.", turn)
    return last
""",
    "dataclass-state": """
from dataclasses import dataclass, field

@dataclass
class State:
    notes: list = field(default_factory=list)
    step: int = 0

async def forward(task):
    state = State()
    while state.step < 3:
        (note,) = await task.ask(["note"], [task] + state.notes, f"Step {state.step}")
        state.notes.append(note)
        state.step += 1
    (answer,) = await task.ask(["answer"], [task, *state.notes], "Conclude.")
    return answer
""",
    "devil-advocate": """
async def forward(task):
    thinking, answer = await task.ask(["thinking", "answer"], [task], "Answer.")
    attack, = await task.ask(["objection"], [task, thinking, answer], "Argue against it.", name="advocate", temperature=1)
    thinking, answer = await task.ask(["thinking", "answer"], [task, thinking, answer, attack], "Decide.")
    return answer
""",
    "router-match": """
async def forward(task):
    (kind,) = await task.ask(["kind"], [task], "Which kind?", choices={"kind": ["fact", "reasoning", "other"]})
    match kind.content:
        case "fact":
            instruction = "Recall the fact."
        case "reasoning":
            instruction = "Reason step by step."
        case _:
            instruction = "Just answer."
    (answer,) = await task.ask(["answer"], [task, kind], instruction)
    return answer
""",
    "role-loop": """
async def forward(task):
    opinions = []
    for role in task.roles:
        opinions.extend(await task.ask(["opinion"], [task], "Your view, briefly.", name=role.name, role=role.text))
    final = await task.ask(["thinking", "answer"], [task] + opinions, "Weigh all views.", name="chair")
    return final[1]
""",
    "plan-and-solve": """
async def forward(task):
    (plan,) = await task.ask(["plan"], [task], "Write a plan as numbered steps.")
    steps = [line.strip() for line in plan.content.split("\\n") if line.strip()]
    context = [task, plan]
    for number, step in enumerate(steps[:3], start=1):
        context += await task.ask(["result"], context, f"Do step {number}: {step}")
    return (await task.ask(["answer"], context, "Answer."))[0]
""",
    "json-in-field": """
import json

async def forward(task):
    (facts,) = await task.ask(["facts"], [task], "List facts as a JSON array.")
    try:
        listed = json.loads(facts.content)
    except json.JSONDecodeError:
        listed = [facts.content]
    summary = "; ".join(str(fact) for fact in listed)
    _, answer = await task.ask(["thinking", "answer"], [task, Record("facts", summary)], "Use the facts.")
    return answer
""",
    "regex-extract": r"""
import re

async def forward(task):
    (text,) = await task.ask(["response"], [task], "End with: the answer is (X).")
    found = re.findall(r"\(([A-Z])\)", text.content)
    if found:
        return found[-1]
    return await format_answer(task, text.content)
""",
    "recursive-decompose": """
async def _solve(task, question, depth):
    if depth == 0:
        return await task.ask(["result"], [task, Record("part", question)], "Solve this part.")
    (parts,) = await task.ask(["parts"], [task, Record("part", question)], "Split into two parts with |.")
    records = []
    for part in parts.content.split("|")[:2]:
        records.extend(await _solve(task, part, depth - 1))
    return records

async def forward(task):
    records = await _solve(task, task.text, 2)
    (answer,) = await task.ask(["answer"], [task] + records, "Combine.")
    return answer
""",
    "retry-on-error": """
async def forward(task):
    last = None
    for attempt in range(3):
        try:
            _, answer = await task.ask(["thinking", "answer"], [task], f"Try {attempt}.")
            if answer.content not in task.answers:
                raise ValueError(answer.content)
            return answer
        except ValueError as error:
            last = str(error)
    return last
""",
    "review-revise": """
async def forward(task):
    solution = await custom(task, task.text, "Solve it step by step.")
    for _ in range(2):
        accepted, feedback = await review(task, solution)
        if accepted:
            break
        solution = await revise(task, solution, feedback)
    return await format_answer(task, solution)
""",
    "md-ensemble": """
async def forward(task):
    solutions = [await custom(task, task.text, "Solve.") for _ in range(3)]
    return await format_answer(task, await md_ensemble(task, solutions, votes=3))
""",
    "memory-window": """
from collections import deque

async def forward(task):
    window = deque(maxlen=2)
    for turn in range(4):
        (thought,) = await task.ask(["thought"], [task, *list(window)], "Next thought.", turn=turn)
        window.append(thought)
    (answer,) = await task.ask(["answer"], [task, *list(window)], "Answer.")
    return answer
""",
    "typed-signature": """
from typing import Any, Dict, List, Optional

async def helper(task: Any, notes: List[Any], limit: Optional[int] = None) -> Dict[str, Any]:
    thinking, answer = await task.ask(["thinking", "answer"], [task] + notes[:limit])
    return {"thinking": thinking, "answer": answer}

async def forward(task: Any) -> Any:
    first: Dict[str, Any] = await helper(task, [])
    second: Dict[str, Any] = await helper(task, [first["thinking"]], limit=1)
    return second["answer"]
""",
}
