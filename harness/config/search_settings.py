"""The section [search] of study.toml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harness.config.models import Section

Split = Literal["feedback", "select", "confirm", "test"]


class SearchSection(Section):
    """A search for a better workflow; see docs/search.md.

    `model` answers, `optimiser` writes programs (no policy but ``"recombine"`` goes without); both name
    entries of [models]. `split` is the shares of the labelled items; `usd` and `tokens` cap the whole.
    `examples` is how many solved feedback items calls may show where workflow.toml names none.
    """

    policy: Literal["recombine", "reflect", "aflow", "adas"] = "recombine"
    model: str = ""
    optimiser: str = ""
    start: str = "cot"
    library: list[str] = Field(default=[])
    task: str = ""
    candidates: int = Field(default=16, ge=0)
    in_flight: int = Field(default=4, ge=1)
    rungs: list[int] = Field(default=[30, 60, 120])
    keep: list[float] = Field(default=[0.5, 0.25])
    fitness: Literal["ml", "ivw", "transformed", "raw"] = "ml"
    parity: Literal["raw", "transformed"] | None = None
    replicates: int = Field(default=1, ge=1)
    finalists: int = Field(default=5, ge=1)
    patience: int = Field(default=0, ge=0)
    split: dict[Split, float] = Field(
        default={"feedback": 0.15, "select": 0.35, "confirm": 0.25, "test": 0.25}
    )
    examples: int = Field(default=8, ge=0)
    tier: str = "monty"
    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
