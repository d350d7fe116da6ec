"""A small study with everything a page shows, and the real server on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks._view_server import Served, serve
from oversight.harness.config import ModelSection, Study, read_study
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Answer, Item, Prediction, PredictionStatus, Question, Verdict
from oversight.protocols.routing import Partitioned, one_expert_per_class

CLASSES = ("red", "green", "blue", "black")
N = 80
SETTINGS = """\
[study]
name = "Colours"
seed = 3
{store}
[items]
file = "items.csv"
classes = ["red", "green", "blue", "black"]
meta = ["level"]
"""


def fill(study: Study, texts: Callable[[int], str] = "text {}".format, answered: int = N - 10) -> None:
    """Items, one question each, most of them answered, and the predictions of two models."""
    items = [
        Item(f"i{j}", texts(j), CLASSES, (0, 1, 2, 3), {"level": ("easy", "hard")[j % 2]}) for j in range(N)
    ]
    with Store(study.store_url) as store:
        store.content.add_items(items)
        store.content.add_questions(Partitioned(one_expert_per_class(CLASSES), seed=1).route(items))
        asked = store.content.read_questions()[:answered]
        store.content.add_answers(Answer(q, q.expert, verdict_on(q), "test", "seen") for q in asked)
        for name, wrong in (("good", 10), ("bad", 3)):
            spec = make_spec(name, ModelSection(model=name), "$text", None)
            store.runs.add_run(spec)
            store.runs.store_predictions([(spec.id, predict(j, wrong)) for j in range(N)])


def verdict_on(question: Question) -> Verdict:
    number = int(question.item_id[1:])
    if number % 17 == 3:
        return Verdict.UNSURE
    return Verdict.YES if question.option == number % 4 else Verdict.NO


def predict(j: int, wrong: int) -> Prediction:
    if j % 20 == 7:
        return Prediction(f"i{j}", None, PredictionStatus.UNREADABLE, "several", raw="red or blue")
    if j % 40 == 9:
        return Prediction(f"i{j}", None, PredictionStatus.FAILED, "HTTP 500: oops")
    option = (j % 4 + (j % wrong == 0)) % 4
    return Prediction(f"i{j}", option, raw=f"It is {CLASSES[option]}.", input_tokens=9, output_tokens=4)


def lay_out(folder: Path, store: str = "") -> Study:
    (folder / "study.toml").write_text(SETTINGS.format(store=store and f'store = "{store}"'))
    return read_study(folder / "study.toml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder; tests of a module share it, and none changes it."""
    found = tmp_path_factory.mktemp("study")
    fill(lay_out(found))
    return found


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    """The server on that study."""
    with serve(folder) as running:
        yield running
