"""Every verb says the same of a study on a PostgreSQL server as of the same study in a file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.harness.store.copying import copy_store
from tests.cli.search_study import answer
from tests.fakes.openai_server import fake_openai
from tests.fakes.postgresql import empty_server, run_sql
from tests.first_hour.every_verb import COMMANDS, Command, begin, end_page, lay_out_studies

pytestmark = pytest.mark.slow

_OWN_WORDS = ("doctor", "view", "label serve", "store copy")
"""Verbs that tell of the database, of ports or of links, which differ."""


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory, postgresql: str) -> Iterator[tuple[Path, Path]]:
    """Folders of the studies in files, and of the same studies on a server, each in a separate schema."""
    files, server = (tmp_path_factory.mktemp(name) for name in ("files", "server"))
    empty_server(postgresql)
    with fake_openai(answer) as endpoint:
        lay_out_studies(files, endpoint.url)
        for study in sorted(path.parent for path in files.glob("*/study.toml")):
            shutil.copytree(study, server / study.name)
            move(server / study.name, postgresql)
        yield files, server


def move(folder: Path, server: str) -> None:
    """Move a study to a schema of the server, if it has a database yet; it has its store there."""
    run_sql(server, f'DROP SCHEMA IF EXISTS "{folder.name}" CASCADE', f'CREATE SCHEMA "{folder.name}"')
    url = f"{server}{'&' if '?' in server else '?'}options=-csearch_path%3D{folder.name}"
    file = folder / "study.toml"
    study = read_study(file)
    database = folder / study.study.store
    if database.exists():
        with Store(study.store_url) as source, Store(url, write_marked=True) as target:
            copy_store(source, target)
            target.marks.adopt()
        database.unlink()
    lines = [line for line in file.read_text().splitlines() if not line.startswith("store")]
    file.write_text("\n".join(lines).replace("[study]", f"[study]\nstore = {json.dumps(url)}", 1) + "\n")


def tell(command: Command, folder: Path) -> tuple[int, str]:
    """Exit code of a command, and what it says, where that is of the study alone."""
    process = begin(command, folder)
    end_page(command, process)
    told, _ = process.communicate(timeout=120)
    told = re.sub(r"search \w+ of [-\dT:.+]+", "search", told)
    return process.returncode, "" if command.words.startswith(_OWN_WORDS) else told


def test_every_verb_prints_the_same_with_both_databases(twice: tuple[Path, Path]) -> None:
    files, server = twice
    for command in COMMANDS:
        assert tell(command, server) == tell(command, files), command.words
