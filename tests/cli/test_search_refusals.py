"""A search refuses bad settings, options and stored answers before it calls a model or stores anything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.store import Store
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import fake_openai

BAD = {
    "usd = 1.0": "needs the price of the model 'm', which is unknown",
    'policy = "adas"': "needs a model that writes programs",
    'policy = "adas"\noptimiser = "x"': "there is no model 'x'",
    'policy = "magic"': "[search.policy]",
    'tier = "vm"': "there is no sandbox tier 'vm'",
    "split = {select = 0.9, test = 0.5}": "shares that sum to at most 1",
    "split = {select = nan}": "shares that sum to at most 1",
    "split = {feedback = 0.4, select = 0.1, confirm = 0.2, test = 0.3}": "the first rung needs 6",
    "split = {select = 0.4}": "`split` has no share for feedback, confirm, test",
    "split = {test = 0.0}": "`split` has no share for feedback, select, confirm",
}


@pytest.mark.parametrize("more", BAD)
def test_a_wrong_setting_is_named_and_nothing_is_asked(
    more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        text = (tmp_path / "study.toml").read_text()
        (tmp_path / "study.toml").write_text(f"{text}{more}\n")
        assert main(["search", "start", "--study", str(tmp_path / "study.toml")]) == 2
        assert server.prompts == []
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("oversight: ")
    assert BAD[more] in error


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ("rungs = []", "search: `rungs` must be increasing"),
        ("rungs = [0]", "search: `rungs` must be increasing"),
        ("rungs = [14, 6]", "search: `rungs` must be increasing"),
        ("keep = [nan]", "search: `keep` must be a list of shares"),
        ("keep = []", "search: `keep` must have a share for every rung"),
        ("split = {feedback = nan}", "search: `split` must be shares"),
        ('start = "best"', "search: start: there is no workflow 'best'"),
        ('library = ["best"]', "search: library: there is no workflow 'best'"),
        ('tier = "vm"', "there is no sandbox tier 'vm'"),
        ('policy = "adas"', "search: the policy 'adas' needs a model that writes programs"),
        ('policy = "adas"\noptimiser = "x"', "there is no model 'x'"),
        (f"candidates = {10**22}", "study.toml:13 [search.candidates]: a whole number must fit in 64 bits"),
    ],
)
def test_settings_that_make_no_sense_leave_no_search_behind(
    setting: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(tmp_path, "http://127.0.0.1:9/v1")
    head, section = (tmp_path / "study.toml").read_text().split("[search]\n")
    names = {setting.split(" = ", maxsplit=1)[0], "in_flight"}
    kept = [line for line in section.splitlines() if line.split(" = ")[0] not in names]
    (tmp_path / "study.toml").write_text("\n".join([f"{head}[search]", setting, *kept, ""]))
    assert main(["search", "start", "--study", str(tmp_path / "study.toml")]) == 2
    assert error in capsys.readouterr().err.splitlines()[-1]
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        assert store.searches.read_searches() == []


@pytest.mark.parametrize("verb", ["start", "resume"])
@pytest.mark.parametrize(
    "setting",
    [
        "search.tokens=-5",
        "search.tokens=" + "9" * 22,
        "search.usd=-1",
        "search.usd=nan",
        "search.usd=x",
        "search.usd.cap=1",
        "study.seed=" + "9" * 22,
    ],
)
def test_numbers_that_are_none_are_refused_where_they_stand(
    verb: str, setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(tmp_path, "http://127.0.0.1:9/v1")
    assert main(["search", verb, "--set", setting, "--study", str(tmp_path / "study.toml")]) == 2
    assert f"--set {setting.partition('=')[0]}: " in capsys.readouterr().err.splitlines()[-1]
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        assert store.searches.read_searches() == []


def test_complementary_labels_of_items_that_differ_in_options_say_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(tmp_path, "http://127.0.0.1:9/v1", more='labels = "no"', n=120)
    study = tmp_path / "study.toml"
    words = ("search", "start", "--dry-run", "--study", str(study))
    assert main([*words]) == 0
    told = capsys.readouterr().err
    assert "are left out, also from the test" in told
    assert "overrepresent items with many options" not in told
    (tmp_path / "study.db").unlink()
    text = study.read_text().replace("items.csv", "items.jsonl")
    study.write_text(re.sub(r"\nclasses = .*", "", text))
    (tmp_path / "experts.toml").write_text('[[expert]]\nname = "one"\nclasses = ["*"]\n')
    options = [["red", "green", *("blue", "white", "black")[: j % 4]] for j in range(120)]
    rows = [{"id": f"i{j}", "text": f"number {j}.", "options": options[j]} for j in range(120)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "key.csv").write_text("id,label\n" + "".join(f"i{j},red\n" for j in range(120)))
    for more in (("route",), ("simulate", "--key", str(tmp_path / "key.csv"))):
        assert main(["label", *more, "--study", str(study)]) == 0
    assert main([*words]) == 0
    assert "overrepresent items with many options" in capsys.readouterr().err


def test_answers_about_predictions_alone_are_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, key = tmp_path / "study.toml", tmp_path / "key.csv"
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        study.write_text('[experts]\nprotocol = "sequential"\n' + study.read_text())
        (tmp_path / "study.db").unlink()
        for words in (["run"], ["label", "route"], ["label", "simulate", "--key", str(key)]):
            assert main([*words, "--study", str(study)]) == 0
        asked = len(server.prompts)
        assert main(["search", "start", "--study", str(study)]) == 2
        assert len(server.prompts) == asked
    assert "asked only about the predictions of certain models" in capsys.readouterr().err.splitlines()[-1]
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        assert store.searches.read_searches() == []


def test_search_without_test_items_says_so(
    tmp_path: Path, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more="split = {feedback = 0.2, select = 0.5, confirm = 0.3, test = 0}")
        study = str(tmp_path / "study.toml")
        for words in (["start", "--dry-run"], ["start"]):
            assert main(["search", *words, "--study", study]) == 0
            assert "there is no sealed test" in capsys.readouterr().err
    assert (
        "there is no sealed test"
        in oversight("search", "show", "--study", study)["search"]["winner"]["untested"]
    )
