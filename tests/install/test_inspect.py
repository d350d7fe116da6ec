"""Scores go into a real log by the real inspect-ai, whose metric then finds the study's own estimate."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.install.environments import ROOT, build_wheel, call, install, keep_environment
from tests.studies.opened import copy_study

pytestmark = pytest.mark.slow
PEER = Path(__file__).with_name("inspect_peer.py")
SCORER = ("--scorer", "inspect_ai/precomputed_scores", "--metric", "oversight/expert_accuracy")
NAMES = {"accuracy": "estimate", "low": "low", "high": "high", "stderr": "se"}


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """inspect-ai's own environment, kept for all test runs, with the wheel of today."""
    kept = keep_environment("inspect_ai", ["inspect-ai==0.3.285"])
    install(kept, "--reinstall-package", "oversight-eval", build_wheel(tmp_path_factory.mktemp("wheel")))
    return kept


@pytest.fixture
def scored(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> Callable[..., dict[str, Any]]:
    """Evaluate a frozen study's items with inspect-ai, import the log, and score it with what comes out."""

    def score(epochs: int = 1, study: str = "partitioned", answers: str = "quick.csv") -> dict[str, Any]:
        monkeypatch.chdir(copy_study(study, tmp_path))
        said = {row["id"]: row["prediction"] or row["raw"] for row in _rows(answers)}
        items = [
            {"id": r["id"], "text": r["text"], "says": said.get(r["id"], "")} for r in _rows("items.csv")
        ]
        Path("asked.json").write_text(json.dumps(items))
        peer = (programs / "python", PEER)
        made = call(*peer, "run", "asked.json", "logs", str(epochs), folder=Path.cwd()).stdout
        log = json.loads(made.splitlines()[-1])["log"]
        oversight("predictions", "import", log, "--model", "inspected")
        oversight("predictions", "scores", "scores.jsonl", "--model", "inspected")
        words = ("-S", "scores=scores.jsonl", "--action", "overwrite", "--output-file", "scored.eval")
        call(programs / "inspect", "score", log, *SCORER, *words, folder=Path.cwd())
        read = call(*peer, "read", "scored.eval", folder=Path.cwd()).stdout
        found: dict[str, Any] = json.loads(read.splitlines()[-1])
        return found

    return score


def _rows(file: str) -> list[dict[str, str]]:
    with Path(file).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("epochs", [1, 2])
def test_the_metric_finds_the_study_s_estimate_and_the_rest_stays_unscored(
    epochs: int, scored: Callable[..., dict[str, Any]], oversight: Callable[..., Any]
) -> None:
    found = scored(epochs)
    estimates = oversight("estimate", "--model", "inspected")["models"]["inspected"]["estimates"]
    records = [json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()]
    given = {name: values[0] for name, values in found["values"].items() if values}
    assert given == {record["id"]: record["value"] for record in records}
    assert 0 < len(given) < len(found["values"])
    for name, ours in NAMES.items():
        assert found["metrics"][name] == pytest.approx(estimates["ml"][ours], abs=1e-12)


def test_scores_of_a_part_of_the_samples_are_refused_in_words(
    scored: Callable[..., dict[str, Any]], programs: Path
) -> None:
    scored()
    lines = Path("scores.jsonl").read_text().splitlines()
    Path("fewer.jsonl").write_text("\n".join(lines[1:]))
    words = ("-S", "scores=fewer.jsonl", "--action", "overwrite", "--output-file", "again.eval")
    done = call(programs / "inspect", "score", "scored.eval", *SCORER, *words, folder=Path.cwd(), code=1)
    assert f"only {len(lines) - 1} of {len(lines)} scores" in done.stdout + done.stderr


def test_the_page_shows_what_was_done_here(scored: Callable[..., dict[str, Any]], programs: Path) -> None:
    """The block ``score`` of docs/inspect.md has the words of these tests, and ``scorer`` runs."""
    page = (ROOT / "docs" / "inspect.md").read_text(encoding="utf-8")
    shown = page.split("<!-- test: score -->\n```bash\n")[1].split("```")[0].replace("\\\n", " ").split()
    words = (
        "inspect",
        "score",
        "logs/run.eval",
        *SCORER,
        "-S",
        "scores=scores.jsonl",
        "--action",
        "overwrite",
    )
    assert sorted(shown) == sorted([*words, "--output-file", "logs/scored.eval"])
    scored()
    snippet = page.split("<!-- test: scorer -->\n```python\n")[1].split("```")[0]
    call(programs / "python", "-c", snippet, folder=Path.cwd())
