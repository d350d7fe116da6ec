"""`oversight plan`: tables, JSON, the reverse, refusals."""

from __future__ import annotations

import json

import pytest

from oversight.harness.cli.main import main


def test_plan_gives_the_questions_for_a_half_width(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--options", "10", "--accuracy", "0.7", "--width", "0.03", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows = {row["protocol"]: row for row in answer["estimate"]}
    assert 897 < rows["targeted"]["questions"] < 960
    assert answer["half_width_reached_in"] == 0.8
    assert rows["targeted"]["half_width"] == 0.03
    assert 0.029 < rows["targeted"]["half_width_expected"] < 0.03
    assert rows["uniform"]["saving"] == 1
    assert rows["targeted"]["saving"] == pytest.approx(5.8, abs=0.2)
    compared = {row["protocol"]: row for row in answer["compare"]}
    assert compared["disagreements, targeted"]["saving"] > 30


def test_plan_gives_the_half_width_for_a_number_of_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--options", "4", "--accuracy", "0.7", "--questions", "897", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows = {row["protocol"]: row["half_width"] for row in answer["estimate"]}
    assert 0.03 < rows["targeted"] < 0.031
    assert rows["targeted"] < rows["uniform"] < rows["uniform, complementary only"]
    assert all(row["detectable"] > 0 for row in answer["compare"])


def test_plan_is_printed_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--options", "5", "--models", "5"]) == 0
    out = capsys.readouterr().out
    assert "targeted" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--options", "1"], "at least 2, is 1"),
        (["--options", "4", "--accuracy", "1.5"], "must lie in (0, 1), is 1.5"),
        (["--options", "4", "--set", "estimate.level=1.5"], "level must lie in"),
        (["--options", "4", "--set", "study.seed=1"], "--set study.seed needs a study"),
        (["--options", "4", "--width", "2"], "--width must be between 0 and 1, is 2"),
    ],
)
def test_impossible_plans_exit_with_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words]) == 2
    assert message in capsys.readouterr().err
