"""A judge that study.toml names: it narrows the others' estimates, is no candidate and costs no question."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import Study, read_study
from oversight.harness.errors import DataError
from oversight.harness.store import Store
from tests.cli.colours import CLASSES, write_colours

N = 60
Oversight = Callable[..., Any]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Path:
    """A study with two models and a third that is sure where it is right; no question drawn yet."""
    monkeypatch.chdir(tmp_path)
    write_colours(N)
    write_study("")
    oversight("items", "check")
    for name, wrong in (("a", 4), ("b", 3), ("wise", 10)):
        rows = [
            {"id": f"i{j}", "prediction": CLASSES[(j + (j % wrong == 0)) % 3], "confidence": sure(j, wrong)}
            for j in range(N)
        ]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        oversight("predictions", "import", f"{name}.jsonl", "--model", name)
    return tmp_path


def sure(j: int, wrong: int) -> float:
    return 0.5 if j % wrong == 0 else 0.99


def write_study(judge: str, protocol: str = "partitioned") -> None:
    Path("study.toml").write_text(
        f'[study]\nname = "t"\nseed = 3\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
        f'[experts]\nprotocol = "{protocol}"\n[models]\n{judge}\n'
    )


def ask(oversight: Oversight) -> None:
    oversight("label", "route")
    oversight("label", "simulate", "--key", "key.csv")


def test_a_judge_narrows_the_others_and_is_named(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(oversight)
    before = oversight("estimate")["models"]
    assert [*before] == ["a", "b", "wise"]
    assert not any("judged" in model["estimates"] for model in before.values())
    write_study('judge = "wise"')
    found = oversight("estimate")
    assert [*found["models"]] == ["a", "b"]
    for name, model in found["models"].items():
        judged = model["estimates"].pop("judged")
        assert model["estimates"] == before[name]["estimates"]
        assert judged["low"] < 0.7 < judged["high"] < judged["low"] + 0.35
        assert any(flag.startswith("judge_saved: ") for flag in judged["flags"])
    assert found["left_out"] == ["'wise' is a judge: name it with --model to see it among the models"]
    capsys.readouterr()
    assert main(["estimate", "--all"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Prediction-powered" in text
    assert "the judge saved" in text


def test_named_judge_is_estimated_as_a_model(study: Path, oversight: Oversight) -> None:
    ask(oversight)
    write_study('judge = ["wise"]')
    assert [*oversight("estimate", "--model", "wise")["models"]] == ["wise"]
    pairs = oversight("compare")["comparisons"]
    assert {(pair["first"], pair["second"]) for pair in pairs} == {("a", "b")}
    oversight("gate", "--at-least", "0.01", "--model", "a")


@pytest.mark.parametrize("protocol", ["targeted", "sequential"])
def test_no_question_is_spent_on_a_judge(protocol: str, study: Path, oversight: Oversight) -> None:
    drawn = []
    for judge in ('judge = "wise"', ""):
        write_study(judge, protocol)
        if not judge:
            (study / "study.db").unlink()
            for name in ("a", "b"):
                oversight("predictions", "import", f"{name}.jsonl", "--model", name)
        oversight("label", "route")
        with Store(f"sqlite:///{study / 'study.db'}") as store:
            drawn.append(store.content.read_questions())
    named = {(f"i{j}", (j + (j % wrong == 0)) % 3) for j in range(N) for wrong in (4, 3)}
    assert {q.item_id for q in drawn[0]} == {q.item_id for q in drawn[1]}
    if protocol == "sequential":
        assert [{(q.item_id, q.option) for q in questions} <= named for questions in drawn] == [True, True]
        return
    # A judge only weighs the options that other models predict, and adds no options of its own.
    for question in drawn[0]:
        others = [k for k in range(3) if (question.item_id, k) not in named]
        assert [question.propensities[k] for k in others] == pytest.approx([0.1 / 3] * len(others))
    assert {q.propensities for q in drawn[0]} != {q.propensities for q in drawn[1]}


@pytest.mark.parametrize(
    ("judge", "named"),
    [('"wize"', "was not run"), ('["wise", "nobody"]', "'nobody' was not run")],
)
def test_a_judge_that_was_not_run_is_named(judge: str, named: str, study: Path, oversight: Oversight) -> None:
    ask(oversight)
    write_study(f"judge = {judge}")
    for model in oversight("estimate")["models"].values():
        assert "judged" not in model["estimates"]
        assert named in model["undefined"]["judged"]
        assert "ml" in model["estimates"]


@pytest.mark.parametrize("protocol", ["partitioned", "targeted"])
def test_with_a_judge_the_whole_pool_counts(protocol: str, study: Path, oversight: Oversight) -> None:
    write_study('judge = "wise"', protocol)
    oversight("label", "route", "--questions", "30")
    oversight("label", "simulate", "--key", "key.csv")
    for model in oversight("estimate")["models"].values():
        judged = model["estimates"]["judged"]
        assert judged["low"] < 0.7 < judged["high"] < judged["low"] + 0.5
        assert judged["n"]["ordinary"] + judged["n"]["complementary"] == 30


def test_study_with_only_judges_has_no_models(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(oversight)
    write_study('judge = ["a", "b", "wise"]')
    capsys.readouterr()
    assert main(["estimate"]) == 2
    assert "only judges have been run (a, b, wise)" in capsys.readouterr().err


def test_a_judge_is_a_text_or_a_list_and_a_model_may_have_that_name(study: Path) -> None:
    for written, judges in (('judge = "a"', ["a"]), ('judge = ["a", "b"]', ["a", "b"]), ("", [])):
        write_study(written)
        assert read_study(Path("study.toml")).judges == judges
    write_study('judge = "x"\n[models.x]\nmodel = "x"')
    assert [*read_study(Path("study.toml")).models] == ["x"]
    write_study('[models.judge]\nmodel = "x"')
    found: Study = read_study(Path("study.toml"))
    assert (found.judges, [*found.models]) == ([], ["judge"])
    for wrong in ("judge = 3", 'judge = ["a", "a"]', 'judge = ""'):
        write_study(wrong)
        with pytest.raises(DataError, match=r"study\.toml:10 \[models\.judge\]"):
            read_study(Path("study.toml"))
