"""``parity``: as published in every setting, or refused; q is called q; complementary labels alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.agents.search import open_search, score_items
from oversight.agents.search.fitness.expert_labels import ExpertLabels, keep_complementary
from oversight.agents.search.setup import as_published
from oversight.agents.search.view.listed_searches import read_searches
from oversight.harness import BadInput, ConfigError
from oversight.harness.cli.main import main
from oversight.harness.config import SearchSection, read_study
from oversight.harness.store import Store
from oversight.harness.types import Label, LabelKind
from tests.agents.search.test_told_writer import Writer, read_archive, text_of
from tests.agents.simulated_search import Task
from tests.cli.search_study import answer, lay_out, set_search
from tests.fakes.openai_server import fake_openai

PUBLISHED = """\
policy = "{policy}"
model = "m"
optimiser = "w"
[models.w]
endpoint = "{url}"
model = "writer"
tries = 1
"""


def unraced(folder: Path) -> None:
    """Take the race of the test's study out again."""
    path = folder / "study.toml"
    text = path.read_text().replace("in_flight = 2\nrungs = [6, 14]\nkeep = [0.5]\n", "")
    path.write_text(text)


def search_in(folder: Path, writer: Writer, policy: str, *words: str, **settings: object) -> int:
    with fake_openai(writer) as server:
        writer.server = server
        lay_out(folder, server.url, more=PUBLISHED.format(policy=policy, url=server.url), n=96)
        unraced(folder)
        set_search(folder / "study.toml", **settings)
        return main(["search", "start", "--study", str(folder / "study.toml"), *words])


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "runs"), [("adas", 1), ("aflow", 3)])
def test_parity_follows_the_published_procedure(
    tmp_path: Path, policy: str, runs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = Writer()
    assert search_in(tmp_path, writer, policy, parity="raw", candidates=3) == 0
    out, err = capsys.readouterr()
    assert "as published: " in err
    assert "in_flight = 1" in err
    archive = read_archive(tmp_path)
    assert not [key for key in archive.events if key.startswith("race/")]
    assert list(archive.splits) == ["feedback", "select", "test"]
    select, test = archive.splits["select"], archive.splits["test"]
    for c in archive.candidates:
        assert all(archive.table.is_there([c], select, run).all() for run in range(runs))
        assert archive.table.is_there([c], test).all()
        assert f"[{c}]: " in out.split("every member on the test items:")[1]
    assert len(out.split("every member on the test items:")[1].strip().splitlines()) == len(
        archive.candidates
    )
    lineage = out.split("lineage")[1].split("winner:")[0]
    assert "q 0." in lineage
    assert "%" not in lineage.split("\n", 1)[1].replace(" % of", "")
    told = "\n".join(text_of(r) for r in writer.asked)
    assert "q 0." in told
    assert " % ±" not in told
    assert "ccuracy" not in told.split("# What a workflow is")[-1].replace("q is no accuracy", "")


@pytest.mark.slow
def test_the_winner_is_the_largest_score_and_the_first_of_equals(tmp_path: Path) -> None:
    assert search_in(tmp_path, Writer(), "adas", "--json", parity="transformed", candidates=4) == 0
    study = read_study(tmp_path / "study.toml")
    with Store(study.store_url) as store:
        found = read_searches(study, store)["search"]
    best = max(row["standing"]["measured"] for row in found["rows"])
    first = next(row["id"] for row in found["rows"] if row["standing"]["measured"] == best)
    assert found["winner"] == first
    assert found["scale"] == "accuracy"


def test_page_shows_scores_on_the_scale_q(tmp_path: Path) -> None:
    assert search_in(tmp_path, Writer(), "adas", "--json", parity="raw", candidates=1) == 0
    study = read_study(tmp_path / "study.toml")
    with Store(study.store_url) as store:
        found = read_searches(study, store)["search"]
    assert found["scale"] == "q"
    assert {row["standing"]["scale"] for row in found["rows"]} == {"q"}
    scales = {number["key"]: number["scale"] for number in [found["headline"], *found["others"]]}
    assert scales["naive"] == scales["reported"] == "q"
    assert scales["test"] == "accuracy"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"rungs": [30, 60]}, "rungs"),
        ({"keep": [0.5]}, "keep"),
        ({"finalists": 3}, "finalists"),
        ({"in_flight": 4}, "in_flight"),
        ({"replicates": 1}, "replicates"),
        ({"fitness": "ml"}, "fitness"),
        ({"labels": "all"}, "labels"),
        ({"patience": 3}, "patience"),
        ({"examples": 8}, "examples"),
        ({"split": {"select": 0.5, "confirm": 0.2, "test": 0.3}}, "split.confirm"),
    ],
)
def test_a_contradiction_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=f"study.toml sets {named}"):
        as_published(SearchSection(parity="raw", policy="aflow", **given))


def test_an_agreeing_setting_is_accepted() -> None:
    section, words = as_published(SearchSection(parity="raw", policy="aflow", rungs=[88], labels="no"))
    assert (section.rungs, section.labels, section.replicates) == ([88], "no", 3)
    assert words
    assert as_published(section) == (section, [])
    assert as_published(SearchSection()) == (SearchSection(), [])


def test_a_race_in_the_study_is_refused_with_parity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        set_search(tmp_path / "study.toml", parity="raw")
        assert main(["search", "start", "--study", str(tmp_path / "study.toml")]) == 2
        assert server.prompts == []
    assert "study.toml sets keep = [0.5]" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["no", "drawn"])
def test_complementary_labels_alone_estimate_the_same(how: str) -> None:
    """Both routes are unbiased: over many draws the mean score is the accuracy."""
    found, used = [], []
    for seed in range(60):
        task = Task(4, 400, seed)
        program = task.program("p", 0.6)
        y = task.answers(program)
        labels = ExpertLabels.of_items(task.items, task_labels(task, seed))
        alone = keep_complementary(labels, how, seed)
        assert (alone.truth < 0).all()
        assert not alone.refused[np.arange(400), task.truth].any()
        scores = score_items(y[None], alone, "transformed")[0]
        found.append(np.nanmean(scores) - (y == task.truth).mean())
        used.append(alone.answered.mean())
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(len(found))
    assert np.mean(used) == pytest.approx(0.75 if how == "no" else 1.0, abs=0.01)


def task_labels(task: Task, seed: int) -> list[Label]:
    """A yes or a no about a uniform option of every item."""
    asked = np.random.default_rng([seed, 9]).integers(task.K, size=len(task.items))
    return [
        Label(i.id, int(k), LabelKind.ORDINARY if k == t else LabelKind.COMPLEMENTARY, task.K, 1 / task.K)
        for i, k, t in zip(task.items, asked, task.truth, strict=True)
    ]


def test_the_same_items_get_the_same_draws() -> None:
    task = Task(4, 50, 0)
    labels = ExpertLabels.of_items(task.items, task_labels(task, 0))
    first, again, other = (keep_complementary(labels, "drawn", seed).refused for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("how", ["no", "drawn"])
def test_options_that_models_chose_are_no_complementary_labels(how: str) -> None:
    task = Task(4, 60, 0)
    labels = task.labelled(slice(0, 60), "routed", [task.program("p", 0.6)])
    assert labels.routed.any()
    with pytest.raises(BadInput, match="drawn uniformly"):
        keep_complementary(labels, how, 0)


def test_a_search_on_complementary_labels_alone_says_what_it_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url, more='labels = "no"', n=60)
        assert main(["search", "start", "--study", str(tmp_path / "study.toml"), "--json"]) == 0
    _, err = capsys.readouterr()
    left = int(err.split("only complementary labels: ")[1].split()[0])
    assert left > 0
    study = read_study(tmp_path / "study.toml")
    with Store(study.store_url) as store:
        context = open_search(study, store, None)
    for labels in context.labels.values():
        assert labels.answered.all()
        assert (labels.truth < 0).all()
    assert len(context.items("feedback")) == round(0.15 * (60 - left))
