"""A workflow as text, and its place and score in a search."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """A workflow as text, from the library or written by a search, which the sandbox runs.

    The source is Python that defines one ``async def forward(task)`` and any further constants, functions
    and classes. ``forward`` answers one item and returns a record or a text that names one of the options.
    It may call only the methods of `task`, which docs/workflows.md lists. Numbers and prompts that a search
    may change are constants in capitals at the top::

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
        Why the author wrote it this way; for people and proposers, never executed.
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
        How the program was made: ``"library"``, ``"adas"``, ``"aflow"``, ``"reflect"``, ``"mutate"``…
    parents
        Ids of the candidates that the program was made from.
    note
        Description of the change by its author.
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
    """Score of a candidate given the labels collected so far.

    Attributes
    ----------
    n_items, value
        Number of labelled selection items that the candidate answered, and the candidate's estimated accuracy
        on these items, which is not clipped to [0, 1].
    mean, sd, low, high
        Posterior mean and standard deviation of the accuracy, and an interval of about 95 %. All candidates
        share an uncertain mean level. `sd` excludes the uncertainty of this level; the interval includes it,
        and also the probability of a large improvement. Failed answers count as wrong for the lower end and
        as right for the upper end. Answers without an option are wrong, so `mean` and `low` are limited to
        the share of answers with an option, and `high` to the upper end of this share's interval. Candidates
        are ranked by the mean before it was limited.
    p_best
        Posterior probability that the candidate is the best in the archive.
    p_better, verdict
        Probability that the candidate is better than its first parent, and the verdict on this comparison.
        Both use only items that candidate and parent answered; None without a parent.
    tokens
        Tokens per item, sent and received together.
    invalid_rate, error_rate
        Two shares of the answers. `invalid_rate` counts answers that named no option, and failures that the
        program may have caused; these answers score 0. `error_rate` counts answers that failed at the same
        time as answers of other programs; these answers are excluded from the score.
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
        """Text such as ``, 3 % unreadable, 2 % failed``; empty if every answer names an option."""
        named = ((self.invalid_rate, "unreadable"), (self.error_rate, "failed"))
        return "".join(f", {100 * rate:.0f} % {what}" for rate, what in named if rate)

    def text(self, scale: str = "accuracy") -> str:
        """Format mean and interval as ``61 % (48–74)``, or as ``q 0.87 (0.83–0.91)`` on the scale ``"q"``."""
        mean, low, high = (min(1.0, max(0.0, x)) for x in (self.mean, self.low, self.high))
        if scale == "q":
            return f"q {mean:.3f} ({low:.3f}–{high:.3f})"
        return f"{100 * mean:.0f} % ({100 * low:.0f}–{100 * high:.0f})"
