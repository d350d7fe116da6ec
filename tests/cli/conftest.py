"""A search that has ended, once for every module that looks at one."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.main import main
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import fake_openai


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    with fake_openai(answer) as server:
        lay_out(folder, server.url, concurrency=4)
        assert main(["search", "start", "--study", str(folder / "study.toml"), "--json"]) == 0
    return folder
