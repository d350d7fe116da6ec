"""The ground that workflows are written on: the task, the records that calls pass on, the vote.

The text of this file runs in the sandbox in front of every program, together with
`oversight.agents.operators`; programs may import both for their editor's sake. It is written in the Python
that all tiers share (no inheritance, no generators, no decorators on methods). Nothing outside trusts it: a
program that replaces any of it gains nothing.
"""

from typing import Any


class Record:
    """One thing that calls pass to each other: a named text, and who wrote it in which round."""

    def __init__(self, field: str, content: str, author: str = "", turn: int = -1) -> None:
        self.field = field
        self.content = content
        self.author = author
        self.turn = turn

    def __str__(self) -> str:
        return self.content


class Role:
    """An expert of the study; `text` goes to the head of a prompt."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def __str__(self) -> str:
        return self.text


class Task:
    """One item as a program sees it, and the way to the model."""

    def __init__(self, payload: Any, host: Any) -> None:
        self.text = payload["text"]
        self.options = payload["options"]
        self.letters = payload["letters"]
        self.answers = payload["answers"]
        self.roles = [Role(name, text) for name, text in payload["roles"]]
        self.code_allowed = payload["code_allowed"]
        self.host = host

    async def ask(
        self,
        fields: list[str],
        inputs: Any = None,
        instruction: str = "",
        name: str = "solver",
        role: Any = "",
        temperature: Any = None,
        turn: int = -1,
        choices: Any = None,
        examples: Any = None,
    ) -> list[Record]:
        """Make one call; return one record per field, in the order of `fields`."""
        blocks: list[Any] = []
        for given in [self] if inputs is None else inputs:
            if isinstance(given, Task):
                blocks.append(None)
            elif isinstance(given, Record):
                blocks.append([given.field, given.content, given.author, given.turn])
            else:
                raise TypeError("inputs must be the task and records, not " + type(given).__name__)
        call = {
            "kind": "ask",
            "fields": list(fields),
            "inputs": blocks,
            "instruction": instruction,
            "name": name,
            "role": str(role),
            "temperature": temperature,
            "choices": choices,
            "examples": examples,
        }
        reply = await self.host(call)
        return [Record(field, reply[field], name, turn) for field in fields]

    async def run_code(self, code: str) -> str:
        """Run Python in a sandbox of its own and return what it printed, or its error."""
        reply = await self.host({"kind": "code", "code": code})
        return str(reply["output"])

    def role(self, name: str) -> Role:
        """Return the role whose name occurs in a text; the last role of the study if none does."""
        for role in self.roles:
            if role.name.lower() in str(name).lower():
                return role
        return self.roles[-1]


def vote(answers: Any) -> Any:
    """Return the most frequent of some texts or records; the first seen wins a tie."""
    counts: dict[str, int] = {}
    for answer in answers:
        key = str(answer).strip()
        counts[key] = counts.get(key, 0) + 1
    best = max(counts.values())
    for answer in answers:
        if counts[str(answer).strip()] == best:
            return answer
    return None
