"""A workflow as text: what the library holds, a search writes, and the sandbox runs.

The source is Python that defines one ``async def forward(task)``, and beside it constants, functions
and classes as it likes. ``forward`` answers one item and returns a record or a text that names one of
the options. All it may call is on `task`; docs/workflows.md lists it. Numbers and wordings that are
worth changing stand as constants in capitals at the top, where a search finds them::

    SAMPLES = 5


    async def forward(task):
        thinking, answer = await task.ask(["thinking", "answer"], [task], "Think step by step.")
        return answer
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """One workflow.

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
