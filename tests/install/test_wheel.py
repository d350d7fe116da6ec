"""The wheel in clean environments: the smallest install does a study, and says what each extra is for."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import pytest

from oversight.harness.distribution import VERSION, install_line
from oversight.harness.store import HEAD
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import Reply, fake_openai
from tests.install.environments import ROOT, build_wheel, call, make_environment

pytestmark = pytest.mark.slow
ITEMS = "id,text\n" + "".join(f"n{j},note number {j}\n" for j in range(30))
COUNTS = '{"K": 4, "S_o": 77, "n_o": 120, "S_c": 321, "n_c": 360}'
FIRST = "0006"
"""Revision of the tables that version 0.1.0 wrote; the frozen studies are such."""
MODEL = """
[models.served]
endpoint = "{url}"
model = "small"
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def smallest(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_environment(tmp_path_factory.mktemp("smallest"), [wheel])


def test_the_wheel_puts_one_name_beside_other_packages(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"oversight"}
    assert {"oversight/harness/cli/main.py", "oversight/agents/prompts/guide.txt", "oversight/py.typed"} <= {
        *names
    }
    assert not [name for name in names if "__pycache__" in name]


def test_the_wheel_says_under_which_licences_code_and_data_are(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        told = {name.partition(".dist-info/")[2]: name for name in archive.namelist()}
        metadata = archive.read(told["METADATA"]).decode()
        data = archive.read(told["licenses/data/README.md"]).decode()
    assert "\nLicense-Expression: Apache-2.0 AND CC-BY-4.0\n" in metadata
    assert "licenses/LICENSE" in told
    assert "CC BY 4.0" in data


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_first_commands_run_on_every_python(python: str, wheel: Path, tmp_path: Path) -> None:
    programs = make_environment(tmp_path / "env", [wheel], python=_find_python(python))
    oversight, study = programs / "oversight", tmp_path / "study"
    study.mkdir()
    assert call(programs / "python", "-V").stdout.startswith(f"Python {python}.")
    assert call(oversight, "--version").stdout == f"oversight {VERSION}\n"
    estimate = call(oversight, "estimate", "--counts", COUNTS, "--json").stdout
    assert json.loads(estimate)["ml"]["estimate"] == pytest.approx(0.656, abs=1e-3)
    (study / "items.csv").write_text(ITEMS)
    call(oversight, "init", "--items", "items.csv", "--classes", "a,b,c", folder=study)
    call(oversight, "label", "route", folder=study)
    # do not use a model server that another test has started
    alone = {"OVERSIGHT_CACHE": str(tmp_path / "cache")}
    told = call(oversight, "demo", "--limit", "8", folder=tmp_path, code=2, **alone).stderr
    assert install_line("local") in told
    assert not (tmp_path / "demo").exists()
    code = "from oversight.protocols.demo_study import DATA; print(DATA)"
    data = Path(call(programs / "python", "-c", code, folder=tmp_path).stdout.strip())
    assert len((data / "case_notes.jsonl").read_text().splitlines()) == 240


def test_the_smallest_install_does_a_whole_study(smallest: Path, tmp_path: Path) -> None:
    oversight = smallest / "oversight"
    told = call(oversight, "doctor", folder=tmp_path, code=0).stdout
    assert install_line("workflows") in told  # a missing extra is not an error
    (tmp_path / "items.csv").write_text(ITEMS)
    key = "id,label\n" + "".join(f"n{j},{'abc'[j % 3]}\n" for j in range(30))
    (tmp_path / "key.csv").write_text(key)
    call(oversight, "init", "--items", "items.csv", "--classes", "a,b,c", folder=tmp_path)
    with fake_openai(lambda asked, n: Reply(text="a")) as fake:
        settings = tmp_path / "study.toml"
        text = settings.read_text().split("[models.")[0]
        settings.write_text(text + MODEL.format(url=fake.url))
        call(oversight, "label", "route", folder=tmp_path)
        call(oversight, "label", "simulate", "--key", "key.csv", folder=tmp_path)
        call(oversight, "run", folder=tmp_path)
    shown = json.loads(call(oversight, "estimate", "--json", folder=tmp_path).stdout)
    assert shown["models"]["served"]["items"]["predicted"] == 30
    call(oversight, "report", "report.html", folder=tmp_path)
    assert (tmp_path / "report.html").read_text().rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("labelling", ["label", "push"]),
        ("openai", ["run", "--batch"]),
        ("workflows", ["run", "--workflow", "cot"]),
        ("local", ["server", "start", "model"]),
        ("parquet", ["predictions", "import", "all.parquet", "--model", "m"]),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    smallest: Path, tmp_path: Path, extra: str, words: list[str]
) -> None:
    (tmp_path / "items.csv").write_text(ITEMS)
    call(smallest / "oversight", "init", "--items", "items.csv", "--classes", "a,b,c", folder=tmp_path)
    settings = tmp_path / "study.toml"
    settings.write_text(settings.read_text().split("[models.")[0] + MODEL.format(url="http://127.0.0.1:9/v1"))
    call(smallest / "oversight", "label", "route", folder=tmp_path)
    (tmp_path / "all.parquet").write_bytes(b"PAR1")
    alone = {"OVERSIGHT_CACHE": str(tmp_path / "cache")}
    told = call(smallest / "oversight", *words, folder=tmp_path, code=2, **alone).stderr
    assert install_line(extra) in told
    assert "Traceback" not in told


def test_a_users_script_has_types(smallest: Path, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text("import oversight as ov\nreveal_type(ov.read_items)\n")
    of = ("--python-executable", smallest / "python")
    done = call(sys.executable, "-m", "mypy", "--strict", *of, script, folder=tmp_path)
    assert "list[oversight.harness.types.records.Item]" in done.stdout
    assert "Success" in done.stdout


@pytest.mark.parametrize("study", ["partitioned", "targeted", "sequential", "mixed"])
def test_a_study_of_the_first_version_goes_on(smallest: Path, study: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests" / "studies" / study, tmp_path / study)
    frozen = json.loads((tmp_path / study / "expected" / "estimate.json").read_text())["steps"][0]["out"]
    database = tmp_path / study / "study.db"
    assert _revision(database) == FIRST
    call(smallest / "oversight", "store", "upgrade", folder=tmp_path / study)
    shown = json.loads(call(smallest / "oversight", "estimate", "--json", folder=tmp_path / study).stdout)
    for name, model in frozen["models"].items():
        for estimator, before in model["estimates"].items():
            now = shown["models"][name]["estimates"][estimator]
            for number in ("estimate", "low", "high"):
                assert now[number] == pytest.approx(before[number], abs=1e-7)
    call(smallest / "oversight", "label", "status", folder=tmp_path / study)
    call(smallest / "oversight", "report", "report.html", folder=tmp_path / study)
    assert _revision(database) == FIRST
    assert _revision(database.with_stem(f"study-{HEAD}")) == HEAD


def test_one_environment_holds_this_and_openai_agents(wheel: Path, tmp_path: Path) -> None:
    programs = make_environment(tmp_path / "env", [f"{wheel}[workflows]", "openai-agents"])
    oversight, study = programs / "oversight", tmp_path / "study"
    study.mkdir()
    with fake_openai(answer) as fake:
        lay_out(study, fake.url, route=False)
        for words in (
            ("label", "route"),
            ("label", "simulate", "--key", "key.csv"),
            ("run",),
            ("run", "--workflow", "cot"),
            ("search", "start"),
        ):
            call(oversight, *words, folder=study)
    shown = json.loads(call(oversight, "estimate", "--json", folder=study).stdout)
    assert {"m", "m/cot"} <= set(shown["models"])
    code = "import agents, oversight.agents; print(agents.Agent, oversight.agents.Workflow, sep='\\n')"
    theirs, ours = call(programs / "python", "-c", code, folder=study).stdout.splitlines()
    assert theirs == "<class 'agents.agent.Agent'>"
    assert ours == "<class 'oversight.agents.standalone.Workflow'>"


def _revision(database: Path) -> str:
    """Columns of the study's tables."""
    with closing(sqlite3.connect(database)) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def _find_python(version: str) -> str:
    """A Python of this version: this one, pyenv's, or what uv finds."""
    if sys.version.startswith(f"{version}."):
        return sys.executable
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    return str(next(kept.glob(f"{version}.*/bin/python"), version))
