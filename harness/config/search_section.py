"""What a search for a better workflow does: ``[search]`` of study.toml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from oversight.harness.config.models import Section


class SearchSection(Section):
    """A search for a better workflow; see docs/search.md.

    Attributes
    ----------
    policy
        How workflows are proposed: by edits and crossings without any model (``"recombine"``), or by the
        optimiser (``"reflect"``, ``"aflow"``, ``"adas"``).
    model
        Entry of ``[models]`` that answers the items; empty takes the first.
    optimiser
        Entry of ``[models]`` that writes programs; needed by all policies but ``"recombine"``.
    optimiser_temperature
        Temperature of the optimiser's replies.
    optimiser_tokens
        Most tokens of one reply of the optimiser.
    start
        The workflow that you would use now: a name of the library, or a ``.py`` file. The winner is held
        against it.
    library
        Workflows to start from besides; empty takes all of the library.
    task
        What the optimiser is told of the task.
    candidates
        Number of proposals.
    in_flight
        Proposals made and raced at once, each knowing those that ended so many before it; unset, it follows
        from the endpoint's concurrency.
    rungs
        Numbers of selection items after which proposals are cut.
    keep
        Share of all proposals that goes on after each rung.
    fitness
        Score that proposals are ranked by: accuracy by maximum likelihood (``"ml"``), by inverse variances
        (``"ivw"``) or as the mean over all answers, each transformed (``"transformed"``); or the share of
        answers that experts do not refute (``"raw"``).
    parity
        Go as the published agent search does, by this score.
    labels
        Answers that the search goes by: all, or complementary labels alone, where items with a yes are
        left out (``"no"``) or count as a no about another option (``"drawn"``).
    parents
        Whom proposals start from: those believed best (``"leaders"``), or whoever is best on some items
        (``"pareto"``).
    replicates
        Runs of every candidate on the same items.
    finalists
        Candidates that are confirmed, of which the winner is one.
    patience
        Stop once the best three are the same over so many proposals; 0 never stops early.
    split
        Shares of the labelled items: shown to proposers, to select by, to confirm on, and for the final
        test.
    examples
        Most solved feedback items that calls may show, where workflow.toml names none.
    tier
        Sandbox that programs run in: ``"monty"``, ``"cpython"`` or ``"bubblewrap"``.
    usd
        Cap on what the whole search costs, in dollars by prices.toml; unset, there is none.
    tokens
        Cap on the tokens of the whole search; unset, there is none.
    """

    policy: Literal["recombine", "reflect", "aflow", "adas"] = "recombine"
    model: str = ""
    optimiser: str = ""
    optimiser_temperature: float = Field(default=0.8, ge=0, le=2)
    optimiser_tokens: int = Field(default=4096, ge=1)
    start: str = "cot"
    library: list[str] = Field(default=[])
    task: str = ""
    candidates: int = Field(default=48, ge=0)
    in_flight: int | None = Field(default=None, ge=1)
    rungs: list[int] = Field(default=[8, 16, 32, 120])
    keep: list[float] = Field(default=[0.5, 0.25, 0.06])
    fitness: Literal["ml", "ivw", "transformed", "raw"] = "ml"
    parity: Literal["raw", "transformed"] | None = None
    labels: Literal["all", "no", "drawn"] = "all"
    parents: Literal["leaders", "pareto"] = "leaders"
    replicates: int = Field(default=1, ge=1)
    finalists: int = Field(default=3, ge=1)
    patience: int = Field(default=0, ge=0)
    split: dict[Literal["feedback", "select", "confirm", "test"], float] = Field(
        default={"feedback": 0.15, "select": 0.35, "confirm": 0.25, "test": 0.25}
    )
    examples: int = Field(default=8, ge=0)
    tier: str = "monty"
    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
