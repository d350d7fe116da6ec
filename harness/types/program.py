"""A workflow as text, and its place and score in a search."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """A workflow as text, as stored in the library, written by a search and run in the sandbox.

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
        Name in tables.
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
        Number of the proposal that produced it; negative for the workflows at the start of the search.
    op
        How it was made: ``"library"``, ``"adas"``, ``"aflow"``, ``"reflect"``, ``"mutate"``…
    parents
        Ids of the candidates it was made from.
    note
        The change, in its author's words.
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
    """Score of a candidate under the present labels.

    Attributes
    ----------
    n_items, value
        Number of labelled selection items answered, and the estimated accuracy on them, unclipped.
    mean, sd, low, high
        Posterior of its accuracy. `sd` excludes the uncertain level that all candidates share; the
        interval, of about 95 %, includes it and the chance of a breakthrough, and ranges from all failed
        answers being wrong to all being right. Candidates are ranked by the mean.
    p_best
        Posterior probability of being the best of the archive.
    p_better, verdict
        Comparison with its (first) parent on the same items; None without a parent.
    tokens
        Tokens per item, sent and received.
    invalid_rate, error_rate
        Share of answers that named no option (scored 0; including failures that the program may have
        provoked), and share of answers that failed together with those of other programs (left out).
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
