"""The two simulated models of a `search_field` study: one answers items, one edits programs."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from benchmarks._field_task import FieldTask, edit_method, write_method

LETTERS = "ABCDEFGHIJ"
_CASE = re.compile(r"Case (\d+) of (\d+)")
_SOURCE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_INSTRUCTION = re.compile(r"Method \d\.\d{4}-\d+")


@dataclass
class Solver:
    """Tasks by seed, and the number of times each item was asked, by seed, instruction and item."""

    tasks: dict[int, FieldTask] = field(default_factory=dict)
    asked: Counter[tuple[int, str, int]] = field(default_factory=Counter)

    async def answer(self, conversation: str) -> str:
        """Answer the last question of a conversation; the accuracy depends on its instruction."""
        question = conversation[conversation.rindex("### Question") :]
        found, instruction = _CASE.search(question), _INSTRUCTION.search(question)
        assert found is not None
        assert instruction is not None
        item, number = int(found[1]), int(found[2])
        key = (number, instruction[0], item)
        run = self.asked[key]
        self.asked[key] += 1
        option = int(self.tasks[number].answers(instruction[0], run)[item])
        return json.dumps({"answer": LETTERS[option]})

    def calls(self, number: int) -> int:
        """Return the number of answers requested on a task."""
        return sum(count for (task, _, _), count in self.asked.items() if task == number)


SOLVER = Solver()


async def answer(conversation: str) -> str:
    """Reply as the model that answers items."""
    return await SOLVER.answer(conversation)


async def propose(conversation: str) -> str:
    """Reply as the model that edits programs: return the given program with another instruction."""
    seed = int.from_bytes(hashlib.sha256(conversation.encode()).digest()[:8], "big")
    source = next(text for text in _SOURCE.findall(conversation) if _INSTRUCTION.search(text))
    old = _INSTRUCTION.search(source)
    assert old is not None
    new = edit_method(old[0], np.random.default_rng(seed))
    return json.dumps({"modification": f"{new} in place of {old[0]}", "code": source.replace(old[0], new)})


def program_text(accuracy: float, number: int = 0) -> str:
    """Return the source of a program that makes one call."""
    return f'''\
"""One call."""

INSTRUCTION = "{write_method(accuracy, number)}"


async def forward(task):
    (answer,) = await task.ask(["answer"], [task], INSTRUCTION)
    return answer
'''
