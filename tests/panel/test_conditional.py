"""A certificate without oracle labels says what it is conditional on; the counter-example that decides it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness import IntArray
from oversight.harness.cli.main import main
from oversight.harness.panel import Panel, Superhuman, assess_superhuman, assess_superhuman_from_counts
from oversight.harness.panel.ratings import make_panel_from_grid as from_grid
from oversight.harness.panel.ratings import plurality

N, C = 2400, 4
CLASSES = [str(c) for c in range(C)]


def world(seed: int = 0) -> tuple[IntArray, IntArray]:
    """Truth and the labels of five who mostly follow what an item suggests, falsely on four items of ten."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(C, size=N)
    suggested = np.where(rng.random(N) < 0.605, truth, (truth + rng.integers(1, C, size=N)) % C)
    follows = rng.random((N, 5)) < 0.85
    knows = rng.random((N, 5)) < np.where(suggested == truth, 0.3, 0.6)[:, None]
    doubtful = np.where(knows, truth[:, None], rng.integers(C, size=(N, 5)))
    return truth, np.where(follows, suggested[:, None], doubtful)


def copycat(panel: Panel, truth: IntArray, seed: int = 1) -> IntArray:
    """The plurality's label, spoilt on 7 % of the items on which it is right."""
    rng = np.random.default_rng(seed)
    copied = plurality(panel.votes()).argmax(axis=1)
    spoilt = (copied == truth) & (rng.random(N) < 0.07)
    return np.where(spoilt, (copied + 1) % C, copied)


def counter_example() -> tuple[Panel, IntArray, IntArray]:
    truth, grid = world()
    panel = from_grid(grid, CLASSES)
    model = copycat(panel, truth)
    assert (model == truth).mean() < (grid == truth[:, None]).mean() - 0.01
    return panel, model, truth


def certified(oracle: IntArray | None = None) -> Superhuman:
    panel, model, _ = counter_example()
    return assess_superhuman(panel, model, pool=True, oracle=oracle)


def test_all_four_ceilings_certify_a_worse_model_and_the_verdict_is_conditional() -> None:
    found = certified()
    assert found.certified == ("U_star", "U_e", "U_panel", "U_t")
    assert min(c.confidence for c in found.against.values()) > 0.999
    assert not found.holds
    assert found.verdict.startswith("CONDITIONAL: ")
    assert "only if the model does not share the annotators' errors" in found.verdict
    assert "no oracle label was given" in found.why
    (decides,) = found.conditions
    assert "gives the aggregate's wrong class more often than the truth" in decides.refuted_by
    # The plan of direct questions is made even if there is a certificate.
    assert [p.questions for p in found.direct] == [158, 37, 18, 8]


def test_with_an_oracle_it_is_refused() -> None:
    truth = counter_example()[2]
    found = certified(truth)
    assert (found.certified, found.conditions) == ((), ())
    assert found.verdict.startswith("not certified: an assumption fails")
    # Twenty oracle labels drawn at random are enough here.
    few = np.full(N, -1)
    few[:20] = truth[:20]
    assert certified(few).certified == ()


def test_a_better_model_holds_once_the_oracle_has_shown_it() -> None:
    truth, grid = world()
    model = np.where(np.random.default_rng(2).random(N) < 0.99, truth, 0)
    # These annotators are right on nearly all items, so the aggregate is almost always the truth.
    honest = np.where(np.random.default_rng(3).random(grid.shape) < 0.8, truth[:, None], grid)
    panel = from_grid(honest, CLASSES)
    assert not assess_superhuman(panel, model).holds
    found = assess_superhuman(panel, model, oracle=truth)
    assert found.certified
    assert (found.holds, found.why, found.conditions, found.direct) == (True, "", (), ())
    assert found.verdict.startswith("better than")
    # A few labels that agree with the assumption do not prove it.
    known = np.full(N, -1)
    known[:8] = truth[:8]
    few = assess_superhuman(panel, model, oracle=known)
    assert few.certified
    assert "do not contradict it, but are too few" in few.why
    known[:200] = truth[:200]
    assert assess_superhuman(panel, model, oracle=known).holds


def test_published_counts_alone_are_conditional_also_on_the_pool() -> None:
    counts = assess_superhuman_from_counts(0.971, 0.939, 1821, 3, 2)
    assert counts.certified == ("U_star", "U_e", "U_panel")
    assert len(counts.conditions) == 1  # U(p) needs no pool
    only = assess_superhuman_from_counts(0.899, 0.879, 10000, 5, 3)
    assert only.certified == ("U_star", "U_e")
    assert ["drawn from one pool" in c.assumed for c in only.conditions] == [False, True]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The counter-example as files."""
    panel, model, truth = counter_example()
    monkeypatch.chdir(tmp_path)
    rows = zip(panel.item.tolist(), panel.annotator.tolist(), panel.label.tolist(), strict=True)
    write("ratings.csv", ["item", "annotator", "label"], [(f"i{i}", f"a{a}", y) for i, a, y in rows])
    for name, labels in (("model.csv", model), ("truth.csv", truth)):
        write(name, ["item", "label"], [(f"i{i}", y) for i, y in enumerate(labels.tolist())])
    return tmp_path


def write(name: str, head: list[str], rows: list[tuple[Any, ...]]) -> None:
    with Path(name).open("w", newline="") as stream:
        csv.writer(stream).writerows([head, *rows])


def test_the_command_says_so_in_json_in_the_terminal_and_in_the_picture(
    files: Path, oversight: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    line = ("panel", "certify", "ratings.csv", "--model", "model.csv", "--pool")
    found = oversight(*line)
    assert found["certified"] == ["U_star", "U_e", "U_panel", "U_t"]
    assert found["holds"] is False
    assert "does not share the annotators' errors" in found["why"]
    assert len(found["conditional_on"]) == 1
    assert found["conditions"][0]["refuted_by"]
    assert found["direct"][1]["questions"] == 37
    refused = oversight(*line, "--oracle", "truth.csv")
    assert (refused["certified"], refused["check"]["second_holds"]) == ([], False)
    assert main([*line, "--svg", "bounds.svg"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "CONDITIONAL: better than the average annotator" in said
    assert "the condition would be refuted by an expert's truth" in said
    assert "the direct route, without these assumptions" in said
    assert "37 questions" in said
