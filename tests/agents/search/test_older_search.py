"""A search of an older version goes on only if none of its programs would make other calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oversight.agents.search import setup
from oversight.agents.search.fitness import Archive
from oversight.harness import ConfigError
from oversight.harness.config import SearchSection
from oversight.harness.types import Candidate, Program

SAME = "async def solve(task):\n    return await task.ask('x')\n"


def check(source: str, tier: str) -> Any:
    archive = Archive({})
    archive.add_candidate(Candidate(Program("p", source), 0, "fresh"))
    context: Any = SimpleNamespace(id="s", section=SearchSection(tier=tier), archive=archive)
    setup._refuse_changed_calls(context)  # noqa: SLF001  no search of that version can be begun any more
    return archive


@pytest.mark.parametrize(
    ("source", "tier"),
    [
        ("import random\n" + SAME, "monty"),
        (SAME + "# task.index\n", "monty"),
        (SAME + "x = set([1])\n", "cpython"),
        (SAME + "x = {1, 2}\n", "bubblewrap"),
    ],
)
def test_a_program_that_would_make_other_calls_is_named(source: str, tier: str) -> None:
    with pytest.raises(ConfigError, match="program 'p' uses"):
        check(source, tier)


@pytest.mark.parametrize("tier", ["monty", "cpython"])
def test_other_programs_go_on(tier: str) -> None:
    assert check(SAME + "x = {'a': 1}\n", tier).events
