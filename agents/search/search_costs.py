"""What a search would take, priced before anything is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from oversight.agents.sandbox import open_sandbox
from oversight.agents.search.answering import price_of
from oversight.agents.search.checked_settings import optimiser_name
from oversight.agents.search.context import SearchContext
from oversight.agents.search.launch import try_out
from oversight.agents.search.setup import model_name
from oversight.harness.config import SearchSection, Study

META_CALLS = {"recombine": 0, "reflect": 1, "aflow": 1, "adas": 3}
META_TOKENS = 6_000
"""One of the optimiser's calls takes about so many: the guide, a few programs and the reply."""
_CALL_TOKENS = 150
"""A workflow's call takes about so many beside the item's text: role, format, instruction and answer."""
_CHARACTERS_PER_TOKEN = 4
_MANY = 10**9


class _Amount(NamedTuple):
    usd: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a search would take, from free runs of its library; proposals are taken to be as large.

    Attributes
    ----------
    calls, tokens
        Those of answers, for library, proposals, confirmation and test together.
    meta_tokens
        The optimiser's.
    usd
        None if a price is unknown.
    affordable
        Proposals that the cap on tokens or dollars allows for, about; None without a cap.
    """

    calls: int
    tokens: int
    meta_tokens: int
    usd: float | None
    affordable: int | None

    def lines(self) -> list[str]:
        """In words."""
        price = "price unknown" if self.usd is None else f"about ${self.usd:.2f}"
        lines = [
            f"about {self.calls:,} calls with {self.tokens:,} tokens, and {self.meta_tokens:,} tokens of the "
            f"optimiser: {price}"
        ]
        if self.affordable is not None:
            lines.append(f"the budget allows for about {self.affordable} proposals")
        return lines


async def estimate_costs(study: Study, context: SearchContext) -> Costs:
    """Price a search by running its library for free; a call's tokens are guessed from the items' texts."""
    section, select = context.section, context.items("select")
    async with open_sandbox(section.tier) as sandbox:
        calls = [await try_out(context, sandbox, program) for program in context.programs]
    n, typical = len(select), sum(calls) / len(calls)
    rungs = [r for r in section.rungs if r < n] + [n]
    steps = [after - before for before, after in zip((0, *rungs), rungs, strict=False)]
    each = typical * sum(step * share for step, share in zip(steps, (1.0, *section.keep), strict=False))
    runs, test = section.replicates, len(context.items("test"))
    after = section.finalists * len(context.items("confirm")) * runs
    after += test * (len(calls) if section.parity else 2)
    each = each * runs + (typical * test if section.parity else 0)
    fixed = (sum(calls) * runs + calls[0]) * n + typical * after
    per_call = _CALL_TOKENS + sum(len(item.text) for item in select) / n / _CHARACTERS_PER_TOKEN
    meta, number = META_CALLS[section.policy] * META_TOKENS, section.candidates
    once, proposal = (_price(study, section, n * per_call, m) for n, m in ((fixed, 0), (each, meta)))
    is_known = once.usd < math.inf
    return Costs(
        calls=round(fixed + each * number),
        tokens=round((fixed + each * number) * per_call),
        meta_tokens=meta * number,
        usd=once.usd + number * proposal.usd if is_known else None,
        affordable=_count_affordable(section, once, proposal) if is_known or section.usd is None else None,
    )


def _price(study: Study, section: SearchSection, tokens: float, meta_tokens: int) -> _Amount:
    """What so many tokens of the programs and of the optimiser cost; infinite dollars are unknown ones."""
    used = {model_name(study, section.model): round(tokens)}
    if writer := optimiser_name(study, section):
        used[writer] = used.get(writer, 0) + meta_tokens
    prices = {name: price_of(study, name) for name in used}
    usd = sum(
        math.inf if (price := prices[name]) is None else price.dollars(n, 0) for name, n in used.items()
    )
    return _Amount(usd, sum(used.values()))


def _count_affordable(section: SearchSection, once: _Amount, proposal: _Amount) -> int | None:
    """How many proposals the caps allow for, beside what is needed once; None without a cap."""
    caps = ((section.usd, once.usd, proposal.usd), (section.tokens, once.tokens, proposal.tokens))
    room = [(cap - first) / each for cap, first, each in caps if cap is not None and each]
    return max(0, int(min(*room, _MANY))) if room else None
