"""Removed options and settings are refused, and the message names what replaces each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.cli.retired_options import RENAMED_VERBS, RETIRED
from oversight.harness.config import read_study
from oversight.harness.errors import BadInput, DataError

OPTIONS = [(verb, option, told) for verb, options in RETIRED.items() for option, told in options.items()]
NEEDED = {
    "experts export": ["ana"],
    "experts replace": ["ana", "bea"],
    "items": ["check"],
    "label import": ["a.csv"],
    "label reassign": ["ana", "bea"],
    "panel parity": ["--model", "m"],
    "predictions": ["reread"],
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
        ("[models.m]\nmodel = 'm'", "stop = ['x']", "into the request body"),
        ("[items]\nhub = 'a/b'", "revision = 'main'", "OWNER/NAME@REVISION"),
        ("[items]\npreset = 'gpqa'", "hub_config = 'x'", "NAME:CONFIGURATION"),
        ("[search]", "parents = 'pareto'", "estimates to be best"),
        ("[search]", "examples = 3", "8 solved items"),
        ("[search]", "finalists = 3", "3 candidates"),
        ("[search]", "fitness = 'raw'", "unless parity"),
        ("[search]", "optimiser_temperature = 0.5", "set temperature"),
        ("[search]", "optimiser_tokens = 999", "set max_tokens"),
        ("[search]", "patience = 8", "`candidates` proposals"),
        ("[search]", "replicates = 2", "each item once"),
        ("[costs]", "judge_minutes = 1", "minutes of experts"),
        ("[estimate]", "looks = 3", "look 1/L"),
        ("[prices]", "file = 'p.toml'", "rename the file"),
    ],
)
def test_removed_setting_is_refused_with_its_replacement(
    section: str, setting: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "study.toml"
    start, items = (
        "[study]\nname = 'x'\n",
        "" if section.startswith("[items]") else "[items]\nfile = 'a.csv'\n",
    )
    file.write_text(f"{start}{items}{section}\n{setting}\n")
    with pytest.raises(DataError, match=told):
        read_study(file)


def test_removed_setting_is_not_proposed(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("[study]\nname = 'x'\n[items]\nfile = 'a.csv'\n[search]\npatiance = 3\n")
    with pytest.raises(DataError) as raised:
        read_study(file)
    assert "'patience'" not in str(raised.value)


def test_folder_with_a_colon_is_not_split(tmp_path: Path) -> None:
    folder = tmp_path / "data:old"
    folder.mkdir()
    file = tmp_path / "study.toml"
    file.write_text(f"[study]\nname = 'x'\n[items]\nhub = '{folder}'\n")
    assert read_study(file).items.hub == str(folder)


def test_removed_setting_is_refused_as_a_change(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("[study]\nname = 'x'\n[items]\nfile = 'a.csv'\n")
    with pytest.raises(
        BadInput, match=r"--set search\.finalists: not a setting of this section: 3 candidates"
    ):
        read_study(file, {"search.finalists": 5})


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("hub = 'a/b'", ("a/b", None, None)),
        ("hub = 'a/b:c'", ("a/b", "c", None)),
        ("hub = 'a/b@v1'", ("a/b", None, "v1")),
        ("preset = 'gpqa:diamond@v1'", ("gpqa", "diamond", "v1")),
    ],
)
def test_name_of_a_data_set_holds_configuration_and_revision(
    source: str, told: tuple[str | None, ...], tmp_path: Path
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(f"[study]\nname = 'x'\n[items]\n{source}\n")
    items = read_study(file).items
    assert (items.hub or items.preset, items.hub_config, items.revision) == told


@pytest.mark.parametrize("stop", ["'END'", "['END']"])
def test_stop_in_the_request_body_is_that_of_runs(stop: str, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    start = "[study]\nname = 'x'\n[items]\nfile = 'a.csv'\n[models.m]\nmodel = 'm'\n"
    file.write_text(f"{start}extra = {{top_p = 0.5, stop = {stop}}}\n")
    model = read_study(file).model("m")
    assert (model.stop, model.extra) == (["END"], {"top_p": 0.5})


def test_model_without_a_name_is_refused(oversight: Callable[..., Any]) -> None:
    assert "--model" in oversight("predictions", "import", "m.csv", "--model", "", code=2)["error"]
