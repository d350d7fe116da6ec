"""Estimate the cost of a search before any call, and the default cap."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from oversight.agents.runtime import ObligingBroker, Workbench, answer_items
from oversight.agents.sandbox import Sandbox, open_sandbox
from oversight.agents.search.answering import price_of
from oversight.agents.search.checked_settings import optimiser_name
from oversight.agents.search.context import PORTION, SearchContext
from oversight.agents.search.policies import Recombine, Wordings, write_guide
from oversight.agents.search.setup import model_name
from oversight.harness.config import SearchSection, Study
from oversight.harness.types import Item, Program

META_CALLS = {"recombine": 0, "reflect": 1, "aflow": 1, "adas": 3}
"""Number of the optimiser's calls for one proposal, without repairs."""
REFUTED = {"recombine": 0, "reflect": 3, "aflow": 3, "adas": 0}
"""Number of refuted answers that a proposal is shown."""
_SHOWN = 7
"""Programs in a prompt of `adas`: five of the archive, and about the same amount of results and notes."""
_CHARACTERS_PER_TOKEN = 4
_THOUGHT = 600
"""Characters of a free text if the study sets no limit: a paragraph of 150 tokens."""
_LINE = 60
"""Number of tokens of a field that is one line."""
_SAMPLE, _DRAWS = 3, 24
"""Number of selection items on which programs are run for free, and of free children of the library."""
_MANY = 10**9
DEFAULT_CAP = 2
"""Factor on the estimate that gives the cap of a search without one; the estimate is right within 1.5."""


class _Amount(NamedTuple):
    usd: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Expected cost of a search, from free runs of its library and of children of it.

    Attributes
    ----------
    calls, tokens
        Calls and tokens of all answers: library, proposals, confirmation and test.
    meta_tokens
        Tokens of the optimiser.
    usd
        Dollars; None if a price is unknown.
    affordable
        Approximate number of proposals within the cap on tokens or dollars; None without a cap.
    """

    calls: int
    tokens: int
    meta_tokens: int
    usd: float | None
    affordable: int | None

    @property
    def default_cap(self) -> int:
        """Number of tokens that a search without a cap may use."""
        return DEFAULT_CAP * (self.tokens + self.meta_tokens)

    def lines(self) -> list[str]:
        """In words."""
        price = "price unknown" if self.usd is None else f"about ${self.usd:.2f}"
        lines = [
            f"about {self.calls:,} calls with {self.tokens:,} tokens, and {self.meta_tokens:,} tokens of the "
            f"optimiser: {price}"
        ]
        if self.affordable is not None:
            lines.append(f"the budget allows for about {self.affordable} proposals")
        else:
            lines.append(f"no cap is set: the search stops before it uses {self.default_cap:,} tokens")
        return lines


@dataclass(frozen=True, slots=True)
class Size:
    """Usage of a program per item."""

    calls: float
    tokens: float

    def __mul__(self, number: float) -> Size:
        return Size(self.calls * number, self.tokens * number)

    def __add__(self, other: Size) -> Size:
        return Size(self.calls + other.calls, self.tokens + other.tokens)


NOTHING = Size(0.0, 0.0)
Calls = dict[tuple[str, str], int]
"""Characters of calls by request and draw, because a call that several programs make is made only once."""


async def estimate_costs(study: Study, context: SearchContext) -> Costs:
    """Estimate a search by free runs of its library on some items, with replies of typical length."""
    section = context.section
    async with open_sandbox(section.tier) as sandbox:
        sizes = [await _measure(context, sandbox, program) for program in context.programs]
        known = {call: size for calls in sizes for call, size in calls.items()}
        made = [await _measure(context, sandbox, program) for program in _draw_children(context)]
        meta = _count_meta_tokens(context, sandbox)
    new = [{call: size for call, size in child.items() if call not in known} for child in made]
    child = sum(map(_add_up, new), NOTHING) * (1 / len(new))
    fixed = _price_once(context, _add_up(sizes[0]), _add_up(known), child)
    each = child * _count_items(context)
    number = section.candidates
    total = fixed + each * number
    once = _price(study, section, fixed.tokens, 0)
    proposal = _price(study, section, each.tokens, meta)
    is_known = once.usd < math.inf
    return Costs(
        calls=round(total.calls),
        tokens=round(fixed.tokens) + number * round(each.tokens),
        meta_tokens=meta * number,
        usd=once.usd + number * proposal.usd if is_known else None,
        affordable=_count_affordable(section, once, proposal) if is_known or section.usd is None else None,
    )


async def _measure(context: SearchContext, sandbox: Sandbox, program: Program) -> Calls:
    """Run a program on some items, with choices made at random."""
    shape = context.shape
    most = _LINE if shape.style == "lines" else _THOUGHT if shape.field_chars is None else shape.field_chars
    words = ("word " * most)[:most].strip()
    broker = ObligingBroker(None, words)
    bench = Workbench(broker, sandbox, context.roles, replace(shape, style="json"))
    await answer_items(program, _sample_items(context), bench)
    return broker.asked


def _add_up(calls: Calls) -> Size:
    """Return the usage of calls per item of the sample."""
    return Size(len(calls), sum(calls.values()) / _CHARACTERS_PER_TOKEN) * (1 / _SAMPLE)


def _sample_items(context: SearchContext) -> list[Item]:
    """Return items of about typical length."""
    ordered = sorted(context.items("select"), key=lambda item: (len(item.text), item.id))
    return [ordered[len(ordered) * (2 * j + 1) // (2 * _SAMPLE)] for j in range(_SAMPLE)]


def _draw_children(context: SearchContext) -> list[Program]:
    """Return children of the library by `recombine`; other proposals are assumed to have the same size."""
    rng = np.random.default_rng(0)
    proposer = Recombine(Wordings.bundled().with_roles(role.text for role in context.roles))
    programs = context.programs
    pairs = rng.integers(len(programs), size=(_DRAWS, 2))
    edited = (proposer.edit(programs[a].source, programs[b].source, rng)[1] for a, b in pairs)
    return [Program("child", source) for source, _ in edited]


def _price_once(context: SearchContext, start: Size, library: Size, child: Size) -> Size:
    """Return the cost independent of the number of proposals: library, second start, confirmation, test."""
    section = context.section
    seeded = (library * section.replicates + start) * len(context.items("select"))
    confirmed = child * (section.finalists * len(context.items("confirm")) * section.replicates)
    tested = library if section.parity else start + child
    return seeded + confirmed + tested * len(context.items("test"))


def _count_items(context: SearchContext) -> float:
    """Return the mean number of answers of one proposal, in its race and to feedback items."""
    section, n = context.section, len(context.items("select"))
    rungs = [r for r in section.rungs if r < n] + [n]
    steps = [after - before for before, after in zip((0, *rungs), rungs, strict=False)]
    # Equal proposals continue at these shares, and proposals better than all before always continue.
    equal = sum(step * share for step, share in zip(steps, (1.0, *section.keep), strict=False))
    raced = math.sqrt(equal * n)
    judged = min(len(context.items("feedback")), PORTION * REFUTED[section.policy])
    tested = len(context.items("test")) if section.parity else 0
    return raced * section.replicates + judged + tested


def _count_meta_tokens(context: SearchContext, sandbox: Sandbox) -> int:
    """Return the optimiser's tokens for one proposal; every call of a conversation repeats earlier turns."""
    calls = META_CALLS[context.section.policy]
    source = sum(len(program.source) for program in context.programs) / len(context.programs)
    guide = len(write_guide(sandbox.restrictions(), context.roles, context.shape))
    first = guide + source * (_SHOWN if context.section.policy == "adas" else 2)
    reply = source + _THOUGHT
    characters = sum(first + turn * (reply + _THOUGHT) + reply for turn in range(calls))
    return round(characters / _CHARACTERS_PER_TOKEN)


def _price(study: Study, section: SearchSection, tokens: float, meta_tokens: int) -> _Amount:
    """Return the cost of the programs' and the optimiser's tokens; infinite dollars mean unknown."""
    used = {model_name(study, section.model): round(tokens)}
    if writer := optimiser_name(study, section):
        used[writer] = used.get(writer, 0) + meta_tokens
    prices = {name: price_of(study, name) for name in used}
    usd = sum(
        math.inf if (price := prices[name]) is None else price.dollars(n, 0) for name, n in used.items()
    )
    return _Amount(usd, sum(used.values()))


def _count_affordable(section: SearchSection, once: _Amount, proposal: _Amount) -> int | None:
    """Return the number of proposals within the caps, after the fixed cost; None without a cap."""
    caps = ((section.usd, once.usd, proposal.usd), (section.tokens, once.tokens, proposal.tokens))
    room = [(cap - first) / each for cap, first, each in caps if cap is not None and each]
    return max(0, int(min(*room, _MANY))) if room else None
