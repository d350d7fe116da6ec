"""`oversight gate` on whole studies: exit codes, what is withheld, recorded looks, and its two files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from oversight.harness.cli.main import main
from tests.cli.conftest import CLASSES, TRUTH

Begin = Callable[..., None]
Oversight = Callable[..., Any]


def test_exit_codes_tell_pass_fail_and_undecided(begin: Begin, oversight: Oversight) -> None:
    begin("targeted", {"m": (0.8, 200)})
    passed = oversight("gate", "--at-least", "0.5")
    assert (passed["verdict"], passed["checks"][0]["model"]) == ("pass", "m")
    assert passed["checks"][0]["p_below"] <= 0.05
    assert oversight("gate", "--at-least", "0.95", code=1)["verdict"] == "fail"
    value = passed["checks"][0]["value"]
    near = oversight("gate", "--at-least", str(round(value - 0.03, 3)), code=3)["checks"][0]
    assert near["verdict"] == "undecided"
    assert near["further"] > 200
    assert "either side" in near["why"]
    bar = str(round(value - 0.12, 3))
    strict = str(1 - oversight("gate", "--at-least", bar)["checks"][0]["p_below"] / 2)
    assert (
        oversight("gate", "--at-least", bar, "--set", f"estimate.level={strict}", code=3)["verdict"]
        == "undecided"
    )


def test_gate_before_the_draw_says_that_there_are_no_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(9)))
    Path("m.csv").write_text("id,prediction\n" + "".join(f"i{j},red\n" for j in range(9)))
    Path("study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "blue"]\n'
    )
    oversight("predictions", "import", "m.csv", "--model", "m")
    [check] = oversight("gate", "--at-least", "0.5", code=3)["checks"]
    assert check["why"] == "there are no answers yet; see: oversight label --help"


def test_a_model_is_held_against_the_baseline_and_both_bars(begin: Begin, oversight: Oversight) -> None:
    begin("disagreement", {"old": (0.5, 200), "new": (0.9, 200)})
    words = ("gate", "--not-worse-than", "old", "--margin", "0.02")
    assert oversight(*words)["checks"][0]["requirement"] == "new: at most 2 points worse than old"
    assert oversight("gate", "--not-worse-than", "new", "--margin", "0.02", code=1)["verdict"] == "fail"
    both = oversight(*words, "--at-least", "0.8", code=3)
    assert [check["verdict"] for check in both["checks"]] == ["undecided", "pass"]
    assert "only where two models differ" in both["checks"][0]["why"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--at-least 80", "--at-least: must lie between 0 and 1"),
        ("", "a gate needs a bar"),
        ("--not-worse-than a", "--margin must be given together"),
        ("--margin .1 --at-least .5", "--margin must be given together"),
        ("--at-least .5", "which model? there are 'a', 'b'"),
        ("--at-least .5 --model c", "was not run"),
        ("--not-worse-than a --margin .1 --model a", "compared with itself"),
        ("--at-least .5 --model a --set estimate.level=2", "--set estimate.level: "),
        ("--at-least .5 --model a --look 3/2", "look must lie in"),
        ("--at-least .5 --model a --look 1/2", "the difference may be at most 10 percentage points"),
        ("--at-least .5 --model a --junit .", ".: cannot be written: it is not a file"),
    ],
)
def test_an_invalid_bar_is_refused(
    begin: Begin, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    begin("partitioned", {"a": (0.8, 200), "b": (0.7, 200)})
    assert main(["gate", *words.split()]) == 2
    assert said in capsys.readouterr().err


def test_untrusted_data_are_undecided_and_never_pass(begin: Begin, oversight: Oversight) -> None:
    begin("partitioned", {"half": (0.95, 120), "m": (0.95, 200)})
    half = oversight("gate", "--at-least", "0.3", "--model", "half", code=3)["checks"][0]
    assert half["why"].startswith("the run is not finished: 80 items")
    once = oversight("gate", "--at-least", "0.3", "--model", "half", "--look", "1/1", code=3)["checks"][0]
    assert "first may not be a random sample" in once["why"]
    assert oversight("gate", "--at-least", "0.3", "--model", "m")["verdict"] == "pass"


def test_failed_checks_of_the_experts_answers_are_undecided(begin: Begin, oversight: Oversight) -> None:
    begin("partitioned", {"m": (0.95, 200)}, answered=0.0)
    oversight("label", "export", "all-no")
    for path in Path("all-no").glob("*.csv"):
        head, *rows = path.read_text().splitlines()
        place = head.split(",").index("answer")
        filled = [",".join([*(c := row.split(","))[:place], "no", *c[place + 1 :]]) for row in rows]
        path.write_text("\n".join([head, *filled]) + "\n")
    oversight("label", "import", *sorted(Path("all-no").glob("*.csv")))
    found = oversight("gate", "--at-least", "0.3", code=3)["checks"][0]
    assert "check 'yes_rate' failed" in found["why"]
    assert found["further"] is None


def test_interim_analysis_is_recorded_and_its_plan_cannot_change(
    begin: Begin, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin("targeted", {"m": (0.8, 200)}, answered=0.5)
    assert main(["gate", "--at-least", "0.5", "--look", "1/1"]) == 2
    assert "drawn questions (50%) are answered" in capsys.readouterr().err
    assert oversight("gate", "--at-least", "0.6", "--look", "1/2")["checks"][0]["method"] == "look 1 of 2"
    assert main(["gate", "--at-least", "0.6", "--look", "2/4"]) == 2
    assert "the number of looks cannot change" in capsys.readouterr().err


def test_repeated_analysis_of_the_same_answers_is_allowed(
    begin: Begin, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin("targeted", {"m": (0.8, 200)}, answered=0.96)
    first = oversight("gate", "--at-least", "0.6", "--look", "1/1")
    assert oversight("gate", "--at-least", "0.6", "--look", "1/1") == first
    assert first["checks"][0]["low"] >= 0.6
    Path("key.csv").write_text("id,label\n" + "".join(f"i{j},{CLASSES[t]}\n" for j, t in enumerate(TRUTH)))
    oversight("label", "simulate", "--key", "key.csv")
    assert main(["gate", "--at-least", "0.6", "--look", "1/1"]) == 2
    assert "this look was taken with" in capsys.readouterr().err


def test_both_files_hold_names_as_they_are(begin: Begin, oversight: Oversight) -> None:
    begin("targeted", {"m": (0.8, 200)})
    evil = 'a|b <script>`x` [y](z) & "q" *s*'
    oversight("predictions", "import", "m.csv", "--model", evil)
    Path("summary.md").write_text("# before\n")
    words = ("gate", "--at-least", "0.5", "--model", evil, "--junit", "out/gate.xml", "--markdown")
    assert oversight(*words, "summary.md")["verdict"] == "pass"
    oversight(*words, "summary.md")
    suites = ET.parse("out/gate.xml").getroot()  # noqa: S314
    assert suites.find("testsuite/testcase").get("name") == f"{evil}: accuracy at least 50 %"  # type: ignore[union-attr]
    text = Path("summary.md").read_text(encoding="utf-8")
    assert text.startswith("# before\n")
    assert text.count("## Gate of t: pass") == 2
    row = next(line for line in text.splitlines() if "✅ pass" in line)
    assert row.startswith(r"| a\|b &lt;script&gt;\`x\` \[y\](z) &amp; ")
    assert row.replace(r"\|", "").count("|") == 6


def test_junit_counts_what_does_not_pass(begin: Begin, oversight: Oversight) -> None:
    begin("targeted", {"m": (0.8, 200), "n": (0.75, 200)})
    words = ("--at-least", "0.95", "--not-worse-than", "n", "--margin", "0.02", "--junit", "gate.xml")
    oversight("gate", *words, code=1)
    suite = ET.parse("gate.xml").getroot()[0]  # noqa: S314
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "2", "0")
    assert [failure.get("type") for failure in suite.iter("failure")] == ["fail", "undecided"]


def test_json_has_no_number_that_is_none(begin: Begin, capsys: pytest.CaptureFixture[str]) -> None:
    begin("targeted", {"m": (0.8, 200)})
    capsys.readouterr()
    assert main(["gate", "--at-least", "0.5", "--look", "1/1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["checks"][0]["p_below"] is None


def test_settings_of_estimates_without_use_are_named(begin: Begin, oversight: Oversight) -> None:
    begin("targeted", {"m": (0.8, 200)})
    assert not any(
        "not used" in note for note in oversight("gate", "--at-least", "0.5")["checks"][0]["notes"]
    )
    text = Path("study.toml").read_text(encoding="utf-8")
    Path("study.toml").write_text(
        f'{text}\n[estimate]\nstrata = "ward"\ninterval = "score"\n', encoding="utf-8"
    )
    notes = oversight("gate", "--at-least", "0.5")["checks"][0]["notes"]
    assert [note.partition(" is not used")[0] for note in notes[-2:]] == [
        "estimate.interval = 'score'",
        "estimate.strata = 'ward'",
    ]
