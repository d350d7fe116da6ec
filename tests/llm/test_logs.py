"""Failed calls are logged with --verbose only, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from oversight.harness.cli.main import main
from tests.fakes.openai_server import Reply, fake_openai

KEY = "sk-very-secret-1234"
STUDY = """
[study]
name = "s"
store = "s.db"
[items]
file = "items.csv"
classes = ["red", "green"]
[models.small]
model = "m"
endpoint = "{url}"
"""


@pytest.fixture(autouse=True)
def _no_handlers_left() -> Iterator[None]:
    yield
    logging.getLogger("oversight").handlers.clear()


@pytest.mark.parametrize("verbose", [False, True])
def test_failed_calls_are_logged_with_verbose_only(
    *, verbose: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    Path("items.csv").write_text("id,text\na,first\nb,second\n")
    error = f'{{"error": {{"message": "overloaded, {KEY}"}}}}'

    def reply(_: str, n: int) -> Reply:
        return Reply(status=503, body=error, headers={"Retry-After": "0"}) if n == 0 else Reply("red")

    with fake_openai(reply) as server:
        Path("study.toml").write_text(STUDY.format(url=server.url))
        assert main(["run", *(["--verbose"] if verbose else [])]) == 0
    said = capsys.readouterr().err
    assert ("small: HTTP 503: overloaded, [redacted]; trying again in 0.0 s" in said) is verbose
    assert KEY not in said
