"""The corpus of workflows: what each tier runs is what the documentation says."""

from __future__ import annotations

import asyncio

import pytest

from oversight.agents.programs import Role
from oversight.agents.runtime import dry_run_program
from oversight.agents.sandbox import TIERS, open_sandbox
from oversight.harness import OversightError, ProgramRefused
from oversight.harness.types import Program
from tests.agents.corpus import CORPUS
from tests.agents.corpus.language import BEYOND_MONTY

pytestmark = pytest.mark.slow

ROLES = (Role("chemist", "You are a chemist."), Role("generalist", "You are a generalist."))


async def run_on(tier: str) -> set[str]:
    """Names of the workflows that answer in the smoke run."""
    works = set()
    async with open_sandbox(tier) as sandbox:
        for name, source in CORPUS.items():
            try:
                await dry_run_program(Program(name, source), sandbox=sandbox, roles=ROLES)
                works.add(name)
            except ProgramRefused as refused:
                print(refused)  # noqa: T201  shown if the test fails
    return works


def test_language_corpus_is_large() -> None:
    assert len(CORPUS) >= 40
    assert set(CORPUS) >= BEYOND_MONTY


@pytest.mark.parametrize("tier", TIERS)
def test_each_tier_runs_the_language_that_it_states(tier: str) -> None:
    try:
        works = asyncio.run(run_on(tier))
    except OversightError as error:
        pytest.skip(f"the tier {tier} does not work here: {error}")
    assert works == set(CORPUS) - (BEYOND_MONTY if tier == "monty" else set())
