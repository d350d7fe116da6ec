"""The commands of docs/label-studio.md run as they stand there, on the files that it shows."""

from __future__ import annotations

import re
import shlex
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from oversight.protocols.collect.label_studio.server.own_server import LabelStudioServer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "label-studio.md"


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label_studio: LabelStudioServer) -> str:
    """The page, in a folder with the files that it shows."""
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABEL_STUDIO_URL", label_studio.url)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", label_studio.token)
    for name, content in re.findall(r"```toml\n# (\S+)\n(.*?)```", page, re.DOTALL):
        Path(name).write_text(content.replace("@example.org", "@docs.example.org"))
    Path("notes.csv").write_text("id,text\n" + "".join(f"n{j},note {j}\n" for j in range(8)))
    return page


@pytest.mark.label_studio
def test_the_page_runs(text: str, oversight: Callable[..., Any]) -> None:
    commands = [
        shlex.split(line.removeprefix("$ "))
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(commands) >= 8
    done = []
    for program, *words in commands:
        assert program == "oversight"
        if words == ["server", "start", "label-studio"]:
            continue  # the tests have already started a server
        later = (datetime.now(UTC).date() + timedelta(days=9)).isoformat()
        done.append(oversight(*(re.sub(r"^2\d{3}-\d\d-\d\d$", later, word) for word in words)))
    assert done[1]["sent"] == 8
    assert all(account["password"] for account in done[2]["accounts"])
    # bea took over ana's questions
    assert [path.name for path in Path("questions").iterdir()] == ["questions-bea.xlsx"]


@pytest.mark.label_studio
def test_the_python_on_the_page_runs(text: str) -> None:
    found = re.search(r"<!-- test: python -->\n```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found[1], names)  # noqa: S102  our own page
    assert names["labels"] == []
    assert sum(p.asked for p in names["desk"].status().values()) == 8


def test_names_on_the_page_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (PAGE.parent / target).is_file(), target
    width, height = struct.unpack(">II", (PAGE.parent / "label-studio.png").read_bytes()[16:24])
    assert width >= 900 > height
