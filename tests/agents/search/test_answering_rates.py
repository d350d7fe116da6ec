"""A class whose expert leaves questions unanswered wins no search: its few answers count for more."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from oversight.agents.search.fitness.expert_labels import (
    ExpertLabels,
    count_answers,
    find_rates,
    keep_complementary,
)
from oversight.agents.search.fitness.scores import score_items
from oversight.agents.search.item_splits import refuse_silent
from oversight.harness import FloatArray, IntArray, NotIdentified
from oversight.harness.cli.main import main
from oversight.harness.columns import align_models
from oversight.harness.types import Item, Label, LabelKind
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import fake_openai

CLASSES = ("amber", "blue", "coral", "dun")
N, K = 700, 4
ITEMS = [Item(f"i{i}", "", CLASSES, (0, 1, 2, 3)) for i in range(N)]


def ask(truth: IntArray, silent: float, rng: np.random.Generator, questions: int = 1) -> list[Label]:
    """Answers of one expert per class; the one of `amber` is unsure about a random share of the questions."""
    found = []
    for item, t in zip(ITEMS, truth.tolist(), strict=True):
        for k in rng.permutation(K)[:questions].tolist():
            kind = LabelKind.ORDINARY if k == t else LabelKind.COMPLEMENTARY
            if k == 0 and rng.random() < silent:
                kind = LabelKind.ABSTAINED
            found.append(Label(item.id, k, kind, K, questions / K, CLASSES[k]))
    return found


def rates_of(labels: Sequence[Label]) -> dict[str, float]:
    return find_rates(count_answers(ITEMS, align_models([], labels)[1]))


def score(
    labels: Sequence[Label], answers: IntArray, how: str, estimator: str, rates: dict[str, float]
) -> FloatArray:
    labelled = keep_complementary(ExpertLabels.of_items(ITEMS, labels, rates=rates), how, 1)
    scores = score_items(answers, labelled, estimator)
    mean: FloatArray = np.nanmean(scores, axis=1)
    return mean


@pytest.mark.parametrize("silent", [0.1, 0.3, 0.8])
@pytest.mark.parametrize(
    ("how", "estimator"),
    [("no", "ml"), ("no", "transformed"), ("drawn", "ml"), ("drawn", "raw"), ("all", "ml")],
)
def test_a_class_that_is_seldom_answered_about_is_scored_without_bias(
    how: str, estimator: str, silent: float
) -> None:
    found, true = [], []
    for seed in range(12):
        rng = np.random.default_rng([seed, 7])
        truth = rng.integers(K, size=N)
        constant = np.zeros(N, np.int64)
        leaning = np.where(rng.random(N) < 0.5, truth, 0)
        answers = np.stack([constant, leaning])
        labels = ask(truth, silent, rng)
        found.append(score(labels, answers, how, estimator, rates_of(labels)))
        true.append((answers == truth).mean(axis=1))
    bias = np.mean(found, axis=0) - np.mean(true, axis=0)
    error = 4 * np.std(found, axis=0) / np.sqrt(len(found))
    if estimator == "raw":
        bias = np.mean(found, axis=0) - (K - 2 + np.mean(true, axis=0)) / (K - 1)
    assert np.all(np.abs(bias) < error)


def test_several_questions_about_an_item_are_weighed_together() -> None:
    found = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 8])
        truth = rng.integers(K, size=N)
        labels = ask(truth, 0.5, rng, 2)
        found.append(score(labels, np.zeros((1, N), np.int64), "no", "ml", rates_of(labels))[0])
    assert abs(np.mean(found) - 0.25) < 4 * np.std(found) / np.sqrt(len(found))


@pytest.mark.parametrize("how", ["no", "drawn", "all"])
@pytest.mark.parametrize("estimator", ["ml", "transformed", "raw"])
def test_equal_rates_change_no_digit(how: str, estimator: str) -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(K, size=N)
    labels = ask(truth, 0.0, rng)
    answers = np.where(rng.random((5, N)) < 0.6, truth, rng.integers(K, size=(5, N)))
    assert rates_of(labels) == {}
    plain = keep_complementary(ExpertLabels.of_items(ITEMS, labels), how, 1)
    equal = keep_complementary(
        ExpertLabels.of_items(ITEMS, labels, rates=dict.fromkeys(CLASSES, 0.7)), how, 1
    )
    assert equal.weight.min() == equal.weight.max() > 1
    if how == "all" and estimator == "raw":
        return
    scores = [score_items(answers, labelled, estimator) for labelled in (plain, equal)]
    assert np.array_equal(scores[0], scores[1], equal_nan=True)


def test_a_class_without_answers_is_refused_where_only_no_counts() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(K, size=N)
    counts = count_answers(ITEMS, align_models([], ask(truth, 0.99, rng))[1])
    assert counts["amber"][1] < 5
    refuse_silent(counts, "all")
    with pytest.raises(NotIdentified, match="too few to refute a program that always answers 'amber'"):
        refuse_silent(counts, "no")


CONSTANT = """\
async def forward(task):
    await task.ask(["answer"], [task], "Say red.")
    return "red"
"""


def silence(folder: Path, expert: str, share: float) -> None:
    """Make an expert unsure about a random share of the questions that were put to them."""
    rng = np.random.default_rng(1)
    with sqlite3.connect(folder / "study.db") as connection:
        asked = connection.execute(
            "select question_id from answer join question on question.id = question_id"
            " where answer.expert = ? order by item_id",
            [expert],
        )
        gone = [row for row in asked.fetchall() if rng.random() < share]
        connection.executemany("update answer set verdict = 'unsure' where question_id = ?", gone)


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["no", "drawn"])
def test_a_constant_program_of_a_silent_class_wins_no_search(
    labels: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = f'labels = "{labels}"\npolicy = "recombine"\n'
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, concurrency=4, more=library, n=600)
        path = tmp_path / "study.toml"
        text = path.read_text().replace("candidates = 4", "candidates = 1").replace("[6, 14]", "[14, 120]")
        path.write_text(text.replace('start.py"]', f'start.py", "{tmp_path}/red.py"]'))
        (tmp_path / "red.py").write_text(CONSTANT)
        silence(tmp_path, "red", 0.8)
        capsys.readouterr()
        assert main(["search", "start", "--study", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["search"]
    standings = {c["name"]: c["standing"] for c in found["candidates"] if c["slot"] < 0}
    assert standings["red"]["mean"] < standings["start"]["mean"]
    assert standings["red"]["low"] < 0.26
    assert found["winner"]["name"] != "red"
    assert any("of the questions about 'red'" in line for line in found["power"])
    assert any(flag.startswith("answering_rates: ") for flag in found["winner"]["test"]["flags"])


def test_a_search_says_that_missing_answers_could_change_its_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, concurrency=4, n=400)
        path = str(tmp_path / "study.toml")
        for expert in ("red", "blue"):
            silence(tmp_path, expert, 0.7)
        capsys.readouterr()
        assert main(["search", "start", "--study", path, "--json"]) == 0
    winner = json.loads(capsys.readouterr().out)["search"]["winner"]
    assert "have neither a yes nor a no" in winner["why"]
    assert "have neither a yes nor a no" in winner["test"]["why"]
    assert main(["search", "show", "--study", path, "--page", str(tmp_path / "page.html")]) == 0
    told = capsys.readouterr().out
    assert "the interval of the corrected accuracy may not hold: " in told
    assert told.count("have neither a yes nor a no, and items") >= 2
    assert "have neither a yes nor a no, and items" in (tmp_path / "page.html").read_text()
