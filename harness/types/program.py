"""A workflow as text, its place in a search, and how it stands there: read, stored and shown as they are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """A workflow as text: what the library holds, a search writes, and the sandbox runs.

    The source is Python that defines one ``async def forward(task)``, and beside it constants, functions
    and classes as it likes. ``forward`` answers one item and returns a record or a text that names one of
    the options. All it may call is on `task`; docs/workflows.md lists it. Numbers and wordings that are
    worth changing stand as constants in capitals at the top, where a search finds them::

        SAMPLES = 5


        async def forward(task):
            thinking, answer = await task.ask(["thinking", "answer"], [task], "Think step by step.")
            return answer

    Attributes
    ----------
    name
        What it is called in tables.
    source
        Python text as described above.
    thought
        Why it was written so; for people and proposers, never run.
    """

    name: str
    source: str
    thought: str = ""

    @property
    def id(self) -> str:
        """First 12 hexadecimal digits of the SHA-256 of the source."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program with its place in a search.

    Attributes
    ----------
    program
        The workflow itself.
    slot
        Number of the proposal it came from; negative for the workflows the search started from.
    op
        How it was made: ``"library"``, ``"adas"``, ``"aflow"``, ``"reflect"``, ``"mutate"``….
    parents
        Ids of the candidates it was made from.
    note
        What was changed, in its author's words.
    """

    program: Program
    slot: int
    op: str
    parents: tuple[str, ...] = ()
    note: str = ""

    @property
    def id(self) -> str:
        """The program's id."""
        return self.program.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How good a candidate is, by the labels of the moment.

    Attributes
    ----------
    n_items, value
        Labelled selection items answered, and the estimated accuracy on them: unclipped, as measured.
    mean, sd, low, high
        Posterior of its accuracy: `sd` beside the other candidates, all of whom share an uncertain level;
        the interval, of about 95 %, with that, and with the chance that it is a breakthrough among them; from
        all failed answers being wrong to all being right. The mean is the number to rank by.
    p_best
        Posterior probability of being the best of the archive.
    p_better, verdict
        Against its (first) parent on the same items; None for those without.
    tokens
        Per item, in and out.
    invalid_rate, error_rate
        Shares of answers that named no option (scored 0; failed ones that the program may have provoked are
        among them), and of answers that failed together with those of other programs (left out).
    """

    n_items: int
    value: float
    mean: float
    sd: float
    low: float
    high: float
    p_best: float
    p_better: float | None
    verdict: str | None
    tokens: float
    invalid_rate: float
    error_rate: float

    @property
    def shares(self) -> str:
        """``, 3 % unreadable, 2 % failed``; empty if every answer names an option."""
        named = ((self.invalid_rate, "unreadable"), (self.error_rate, "failed"))
        return "".join(f", {100 * rate:.0f} % {what}" for rate, what in named if rate)

    def text(self, scale: str = "accuracy") -> str:
        """``61 % (48–74)``, the posterior mean and its interval; ``q 0.87 (0.83–0.91)`` if scores are q."""
        mean, low, high = (min(1.0, max(0.0, x)) for x in (self.mean, self.low, self.high))
        if scale == "q":
            return f"q {mean:.3f} ({low:.3f}–{high:.3f})"
        return f"{100 * mean:.0f} % ({100 * low:.0f}–{100 * high:.0f})"
