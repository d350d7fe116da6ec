"""The verbs one after the other, as a person would call them, against a loopback model."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import VERBS, main
from tests.fakes.openai_server import Reply, fake_openai

CLASSES = "red,green,blue"
COUNTS = '{"K": 4, "S_o": 77, "n_o": 120, "S_c": 321, "n_c": 360}'


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_commands_lead_from_a_table_to_a_report(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.csv").write_text("id,text\n" + "".join(f"n{j},note {j}\n" for j in range(60)))
    assert oversight("init", "--items", "notes.csv", "--classes", CLASSES)["written"] == [
        "study.toml",
        "study.schema.json",
        "experts.toml",
        "prompt.txt",
    ]
    assert oversight("items", "check")["items_by_number_of_options"] == {"3": 60}
    assert oversight("label", "route")["new"] == 60
    files = [Path(f) for f in oversight("label", "export")["files"]]
    assert len(files) == 3
    assert oversight("label", "status")["open"] == 60
    truth = {f"note {j}": CLASSES.split(",")[j % 3] for j in range(60)}
    for path in files:
        lines = path.read_text().splitlines()
        for j, line in enumerate(lines[1:], start=1):
            said = "yes" if f"Is the answer: {truth[line.split(',')[2]]}?" in line else "no"
            lines[j] = line.replace("?,,", f"?,{said},")
        path.write_text("\n".join(lines) + "\n")
    assert oversight("label", "import", *files) == {"answers": 60, "new": 60}
    assert oversight("label", "import", *files) == {"answers": 60, "new": 0}
    assert oversight("label", "status")["answered"] == 60
    with fake_openai(lambda prompt, n: Reply("red")) as server:
        edit(Path("study.toml"), 'endpoint = "local"', f'endpoint = "{server.url}"')
        assert oversight("run")["models"]["small"]["ok"] == 60
        assert all(f["state"] != "wrong" for f in oversight("doctor")["findings"])
    Path("key.csv").write_text("id,label\n" + "".join(f"n{j},{truth[f'note {j}']}\n" for j in range(60)))
    model = oversight("estimate", "--open-key", "key.csv")["models"]["small"]
    assert model["truth"] == pytest.approx(1 / 3)
    assert model["estimates"]["ml"]["low"] <= 1 / 3 <= model["estimates"]["ml"]["high"]
    assert model["estimates"]["ml"]["n"]["ordinary"] + model["estimates"]["ml"]["n"]["complementary"] == 60
    assert Path(oversight("report")["report"]).stat().st_size > 10_000


def test_simulated_experts_answer_only_open_questions(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.csv").write_text("id,text\n" + "".join(f"n{j},note {j}\n" for j in range(40)))
    Path("key.csv").write_text("id,label\n" + "".join(f"n{j},red\n" for j in range(40)))
    oversight("init", "--items", "notes.csv", "--classes", CLASSES)
    oversight("label", "route")
    simulate = ("label", "simulate", "--key", "key.csv", "--abstention", "0.5")
    assert oversight(*simulate)["new"] == 40
    assert oversight(*simulate)["new"] == 0
    unsure = sum(e["unsure"] for e in oversight("label", "status")["experts"].values())
    assert 8 <= unsure <= 32


def test_presets_bring_their_own_key(
    oversight: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_text(
        "condition_label,medical_abstract\n" + "".join(f"{j % 5 + 1},t{j}\n" for j in range(30))
    )
    oversight("init", "--preset", "medical-abstracts", "--items", "m.csv")
    assert oversight("label", "route")["questions"] == 30
    assert oversight("label", "simulate")["new"] == 30


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([verb, "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "--json" in out
    assert f"oversight {verb}" in out.split("options:")[0].split("usage:", 1)[1]


def test_square_brackets_are_printed_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # simulates that matplotlib is not installed
    assert main(["doctor"]) == 0
    assert "pip install 'oversight-eval[report]'" in capsys.readouterr().out


def test_help_lists_verbs_and_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {verb} " in text for verb in VERBS)
    assert main([]) == 0
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("oversight 0.")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from oversight.harness.cli.main import main; "
        "main(['--help']); print(sorted(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    modules = out.splitlines()[-1]
    for heavy in ("numpy", "pandas", "openai", "sqlmodel", "sqlalchemy", "scipy", "rich", "pydantic"):
        assert f"'{heavy}'" not in modules


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_full_disk_is_reported_in_one_line(form: tuple[str, ...]) -> None:
    words = [sys.executable, "-m", "oversight.harness.cli.main", "estimate", "--counts", COUNTS, *form]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "oversight: the disk is full: the output is missing or incomplete\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_closed_stream_is_reported_before_a_file_is_opened(closed: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m oversight.harness.cli.main --version {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout + done.stderr == "oversight: standard output or standard error is closed\n"
