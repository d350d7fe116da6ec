"""Which heavy modules each verb loads: exactly those, so that none comes in unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oversight.harness.cli.main import VERBS
from tests.cli.search_study import answer
from tests.fakes.openai_server import fake_openai
from tests.first_hour.every_verb import COMMANDS, Command, lay_out_studies, loaded


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("studies")
    with fake_openai(answer) as server:
        lay_out_studies(folder, server.url)
        yield folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words)
def test_a_verb_loads_no_more_than_it_uses(command: Command, studies: Path) -> None:
    assert loaded(command, studies) == (command.code, set(command.loads.split()))


def test_every_verb_is_tested() -> None:
    assert {command.words.split()[0] for command in COMMANDS} - {"--completion"} == set(VERBS)
