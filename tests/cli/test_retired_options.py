"""Removed options and settings are refused, and the message names what replaces each."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from oversight.harness.cli.main import main
from oversight.harness.cli.retired_options import RENAMED_VERBS, RETIRED
from oversight.harness.config import read_study
from oversight.harness.errors import DataError

OPTIONS = [(verb, option, told) for verb, options in RETIRED.items() for option, told in options.items()]
NEEDED = {
    "experts export": ["ana"],
    "experts replace": ["ana", "bea"],
    "items": ["check"],
    "label import": ["a.csv"],
    "label reassign": ["ana", "bea"],
    "panel parity": ["--model", "m"],
    "predictions": ["export"],
    "server": ["status", "model"],
    "store": ["upgrade"],
}


@pytest.mark.parametrize(("verb", "option", "told"), OPTIONS)
def test_removed_option_is_refused_with_its_replacement(
    verb: str, option: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*verb.split(), *NEEDED.get(verb, []), option])
    assert f"this option was removed: {told}" in capsys.readouterr().err


@pytest.mark.parametrize("verb", RENAMED_VERBS)
def test_renamed_verb_runs_under_its_former_name(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    action = {"completion": ["bash"], "label-studio": ["status"], "model": ["status"]}.get(verb, [])
    with contextlib.suppress(SystemExit):
        main([*verb.split(), *action, "--help"] if verb != "completion" else [verb, *action])
    told = capsys.readouterr()
    assert told.err.startswith(f"oversight: {verb} is now: oversight {RENAMED_VERBS[verb]}\n")
    assert told.out


@pytest.mark.parametrize(
    ("section", "setting", "told"),
    [
        ("[models.m]\nmodel = 'm'", "shared_limits = true", r"set it under \[endpoints.NAME\]"),
        ("[models.m]\nmodel = 'm'", "max_reply_bytes = 5000", "limited to 4 MB"),
        ("[endpoints.e]", "max_reply_bytes = 5000", "limited to 4 MB"),
        ("[search]", "parents = 'pareto'", "estimates to be best"),
        ("[prices]", "file = 'p.toml'", "rename the file"),
    ],
)
def test_removed_setting_is_refused_with_its_replacement(
    section: str, setting: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(f"[study]\nname = 'x'\n[items]\nfile = 'a.csv'\n{section}\n{setting}\n")
    with pytest.raises(DataError, match=told):
        read_study(file)
