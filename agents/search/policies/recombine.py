"""A proposer that needs no strong model: it recombines and changes workflows that are there.

Children are made from selected parents by edits of their source
(`oversight.agents.search.policies.mutations`): other numbers of samples, rounds and examples, other
temperatures, roles and wordings, the thinking left out, constants of a second parent, a vote over runs, two
workflows side by side. Free, seeded, and always a program.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

import numpy as np

from oversight.agents.search.policies import mutations
from oversight.agents.search.policies.mutations import Value, read_constants, replace_constants
from oversight.agents.search.policies.proposal import PolicyView, Proposal, child_name, draw_any
from oversight.harness.types import Program

TRIES = 60
MOST_CALLS = 8
EXAMPLES = (0, 1, 2, 4, 8)
TEMPERATURES = (0.0, 0.2, 0.5, 0.8, 1.0)

Edit = tuple[str, str]
"""The changed source, and what was changed in words."""


@dataclass(frozen=True, slots=True)
class Wordings:
    """Texts that may stand in a prompt, by what they are for."""

    instruction: tuple[str, ...]
    role: tuple[str, ...]

    @classmethod
    def bundled(cls) -> Wordings:
        """Read ``prompts/wordings.toml``."""
        table = tomllib.loads(
            (files("oversight.agents") / "prompts" / "wordings.toml").read_text(encoding="utf-8")
        )
        return cls(tuple(table["instruction"]), tuple(table["role"]))

    def with_roles(self, texts: Iterable[str]) -> Wordings:
        """Add a study's own roles."""
        return replace(self, role=tuple(dict.fromkeys((*self.role, *texts))))


@dataclass(frozen=True, slots=True)
class Recombine:
    """The proposer.

    Parameters
    ----------
    wordings
        Texts to choose from; roles of the study may be added.
    """

    wordings: Wordings
    name: str = "recombine"

    async def propose(self, view: PolicyView) -> Proposal:
        """Change one parent, or mix two; a program that is there already is changed again."""
        known = set(view.board.ids)
        first = draw_any(view)
        for _ in range(TRIES):
            second = draw_any(view)
            op, (source, note) = self.edit(first.program.source, second.program.source, view.rng)
            program = Program(child_name(first, view), source, note)
            if note and program.id not in known:
                parents = tuple(dict.fromkeys((first.id, second.id) if op in _TWO else (first.id,)))
                return Proposal(program, op, parents, note)
        return Proposal(None, self.name, (first.id,), refused=f"no new program in {TRIES} tries")

    async def repair(self, view: PolicyView, proposal: Proposal, reason: str, attempt: int) -> Proposal:
        """Take another draw: nothing here can read an error."""
        again = await self.propose(view)
        return replace(again, log=(*proposal.log, f"draw {attempt + 1}: {reason}"))

    def edit(self, first: str, second: str, rng: np.random.Generator) -> tuple[str, Edit]:
        """Make one to three edits of the first source; return the name of the first edit, and the result."""
        ops = list(EDITS)
        op = ops[int(rng.choice(len(ops), p=_WEIGHTS))]
        source, note = EDITS[op](self, first, second, rng)
        notes = [note] if note else []
        for _ in range(int(rng.integers(3))):
            source, more = self.change_constant(source, "", rng)
            notes += [more] if more else []
        return op, (source, "; ".join(notes))

    def change_constant(self, source: str, _: str, rng: np.random.Generator) -> Edit:
        """Give one constant another value of its kind."""
        found = read_constants(source)
        if not found:
            return source, ""
        name = sorted(found)[int(rng.integers(len(found)))]
        value = self._other(name, found[name], rng)
        if value == found[name]:
            return source, ""
        return replace_constants(source, {name: value}), f"{name} = {value!r}, was {found[name]!r}"

    def cross(self, source: str, other: str, rng: np.random.Generator) -> Edit:
        """Take the second parent's values for some of the constants both have."""
        mine, theirs = read_constants(source), read_constants(other)
        shared = [n for n in sorted(mine) if n in theirs and theirs[n] != mine[n] and rng.random() < 0.7]
        note = f"{', '.join(shared)} as in the other parent" if shared else ""
        return replace_constants(source, {n: theirs[n] for n in shared}), note

    def add_examples(self, source: str, _: str, rng: np.random.Generator) -> Edit:
        """Say how many of the study's solved examples a call shows."""
        n = EXAMPLES[int(rng.integers(len(EXAMPLES)))]
        return mutations.set_argument(source, "examples", "EXAMPLES", n), f"shows {n} examples"

    def add_role(self, source: str, _: str, rng: np.random.Generator) -> Edit:
        """Let the solver play somebody."""
        role = self.wordings.role[int(rng.integers(len(self.wordings.role)))]
        return mutations.set_argument(source, "role", "ROLE", role), f"plays: {role}"

    def _other(self, name: str, value: Value, rng: np.random.Generator) -> Value:
        if isinstance(value, str):
            texts = {"INSTRUCTION": self.wordings.instruction, "ROLE": self.wordings.role}
            choices: Sequence[Value] = texts.get(name.rstrip("_0123456789"), (value,))
        elif "TEMPERATURE" in name:
            choices = TEMPERATURES
        elif name.startswith("EXAMPLES"):
            choices = EXAMPLES
        elif isinstance(value, int):
            choices = range(1, 2 * value + 2)
        else:
            choices = (value / 2, value * 2)
        return choices[int(rng.integers(len(choices)))]


def _drop_thinking(_: Recombine, source: str, __: str, ___: np.random.Generator) -> Edit:
    changed = mutations.remove_thinking(source)
    return changed, "answers without thinking first" if changed != replace_constants(source, {}) else ""


def _vote(_: Recombine, source: str, __: str, rng: np.random.Generator) -> Edit:
    votes = int(rng.choice([3, 5]))
    if "VOTES" in read_constants(source) or mutations.count_calls(source) * votes > 2 * MOST_CALLS:
        return source, ""
    return mutations.add_vote(source, votes), f"votes over {votes} runs"


def _beside(_: Recombine, source: str, other: str, __: np.random.Generator) -> Edit:
    if source == other or mutations.count_calls(source) + mutations.count_calls(other) > MOST_CALLS // 2:
        return source, ""
    return mutations.run_beside(source, other), "runs the other parent beside it, and votes"


EDITS: dict[str, Callable[[Recombine, str, str, np.random.Generator], Edit]] = {
    "mutate": Recombine.change_constant,
    "cross": Recombine.cross,
    "examples": Recombine.add_examples,
    "role": Recombine.add_role,
    "no-thinking": _drop_thinking,
    "vote": _vote,
    "beside": _beside,
}
_TWO = ("cross", "beside")
_WEIGHTS = (0.25, 0.1, 0.25, 0.15, 0.15, 0.05, 0.05)
