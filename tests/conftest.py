"""Fixtures shared by many tests: the real data sets, small items, the local model, the command line."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from oversight.harness.cli.main import main
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model
from oversight.harness.llm.local.lifecycle import LocalServer
from oversight.harness.types import Item
from tests.fakes.postgresql import empty_server, start_postgresql

ROOT = Path(__file__).parents[1]
# no test fails because the machine is busy
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests that need a shared server in one process if pytest uses several.

    One process for all servers, because the process that starts a server stops it when it ends, and because
    a test may need two servers.
    """
    for item in items:
        needed = {*getattr(item, "fixturenames", ()), *(marker.name for marker in item.iter_markers())}
        if needed & {"local_model", "label_studio"}:
            item.add_marker(pytest.mark.xdist_group("servers"))


def pytest_collection_finish() -> None:
    """Collect garbage less often, because collections took a quarter of the tests' CPU time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def datasets() -> Path:
    """Folder with the public data sets that validation uses; see CONTRIBUTING."""
    folder = Path(os.environ.get("OVERSIGHT_DATASETS", ROOT.parent / "shared" / "datasets"))
    if not folder.is_dir():
        pytest.skip(f"the public data sets are not in {folder} (set OVERSIGHT_DATASETS)")
    return folder


@pytest.fixture(scope="session")
def local_model() -> Iterator[LocalServer]:
    """The real small model behind its real server; one for the whole run."""
    running = find_local_model()
    server = running or start_local_model()
    yield server
    if running is None:
        stop_local_model()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A real PostgreSQL server, for the whole run."""
    with start_postgresql() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database: a file, then PostgreSQL."""
    return empty_database(request, tmp_path)


def empty_database(request: pytest.FixtureRequest, folder: Path) -> str:
    """The address of an empty database of the kind that a fixture's parameter names."""
    if request.param == "sqlite":
        return f"sqlite:///{folder / 'study.db'}"
    server: str = request.getfixturevalue("postgresql")
    empty_server(server)
    return server


@pytest.fixture
def items() -> list[Item]:
    return [Item(f"i{n}", f"text {n}", ("red", "green", "blue"), (2, 0, 1)) for n in range(6)]


@pytest.fixture
def oversight(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run the command with ``--json`` and return the object it prints; fails on another exit code.

    None accepts every code.
    """

    def call(*words: str | Path, code: int | None = 0) -> Any:
        capsys.readouterr()
        found = main([*map(str, words), "--json"])
        assert code in (None, found), capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    return call
