"""A panel from the study file to agree, certify and parity, by spreadsheet and without a server."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import ModelSection
from oversight.harness.datasets import read_ratings
from oversight.harness.estimate import accuracy, decode
from oversight.harness.llm import make_spec
from oversight.harness.panel import make_panel, stratify_by_certainty
from oversight.harness.store import Store
from oversight.harness.types import Prediction, PredictionStatus

PEOPLE = ("ana", "bo", "cy", "di")
N = 20


@pytest.fixture
def panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]) -> Any:
    """A routed panel: three of four annotators rate each item."""
    monkeypatch.chdir(tmp_path)
    Path("notes.csv").write_text("id,text\n" + "".join(f"n{j},note {j}\n" for j in range(N)))
    oversight("init", "--items", "notes.csv", "--classes", "red,green,blue", "--seed", "7")
    edit("study.toml", 'protocol = "partitioned"', 'protocol = "panel"')
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{p}"\nclasses = ["*"]\n' for p in PEOPLE)
        + '[[expert]]\nname = "eve"\nclasses = ["red"]\n'
    )
    return oversight("label", "route")


def edit(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new, 1))


def fill(path: Path, say: Callable[[dict[str, str]], str]) -> None:
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"label": say(row)} for row in rows)


def truth(row: dict[str, str]) -> str:
    return ("red", "green", "blue")[int(row["item"][1:]) % 3]


def with_one_mistake(row: dict[str, str]) -> str:
    return "red" if (row["item"], row["annotator"]) == ("n1", "ana") else truth(row)


def test_a_panel_is_drawn_once_and_its_ratings_are_read_from_the_study(
    panel: Any, oversight: Callable[..., Any], tmp_path: Path
) -> None:
    assert panel == {"assignments": 3 * N, "new": 3 * N, "experts": dict.fromkeys(PEOPLE, 15)}
    assert oversight("label", "route")["new"] == 0
    files = [Path(f) for f in oversight("label", "export")["files"]]
    assert len(files) == len(PEOPLE)
    for path in files:
        fill(path, with_one_mistake)
    assert oversight("label", "import", *files) == {"answers": 3 * N, "new": 3 * N}
    assert oversight("label", "import", *files)["new"] == 0
    status = oversight("label", "status")
    assert (status["asked"], status["answered"], status["open"]) == (3 * N, 3 * N, 0)
    assert {e["rated"] for e in status["experts"].values()} == {15}
    oversight("label", "export", "--ratings", "ratings.csv")
    from_study, from_file = (
        oversight("panel", "agree"),
        oversight("panel", "agree", "ratings.csv", "--classes=red,green,blue"),
    )
    assert from_study == from_file
    assert from_study["ratings"] == 3 * N
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        given = store.panel.read_assignments()
        items = store.content.read_items()
        spec = make_spec("large", ModelSection(model="m"), "$text", None)
        store.runs.add_run(spec)
        store.runs.store_predictions([(spec.id, Prediction(i.id, int(i.id[1:]) % 3)) for i in items])
    assert {a.propensity for a in given} == {0.75}
    assert {a.protocol for a in given} == {"panel"}
    rows = [f"{i.id},{truth({'item': i.id})}\n" for i in items]
    Path("predictions.csv").write_text("item,label\n" + "".join(rows))
    for verb in ("certify", "parity"):
        by_name = oversight("panel", verb, "--model", "large")
        by_file = oversight("panel", verb, "--model", "predictions.csv")
        assert by_name == by_file
    assert by_name["overall"]["model"]["value"] > 0.98
    assert oversight("panel", "certify", "--model", "large")["L"] == 1.0


def test_ratings_from_elsewhere_come_in_by_item_and_annotator(
    panel: Any, oversight: Callable[..., Any], tmp_path: Path
) -> None:
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        given = store.panel.read_assignments()
    rows = [{"item": a.item_id, "annotator": a.annotator, "label": "Blue"} for a in given[:5]]
    Path("more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert oversight("label", "import", "more.jsonl") == {"answers": 5, "new": 5}
    left = oversight("label", "export", "--format", "jsonl")
    assert left["questions"] == 3 * N - 5
    lines = Counter(line for f in left["files"] for line in Path(f).read_text().splitlines())
    assert len(lines) == 3 * N - 5
    Path("more.jsonl").write_text(json.dumps(rows[0] | {"label": "red"}) + "\n")
    assert (
        "is 'red', but 'blue' is already stored"
        in oversight("label", "import", "more.jsonl", code=2)["error"]
    )


def test_ratings_in_a_column_per_annotator_are_imported(
    panel: Any, oversight: Callable[..., Any], tmp_path: Path
) -> None:
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        given = store.panel.read_assignments()
    item = given[0].item_id
    people = [a.annotator for a in given if a.item_id == item]
    (other,) = {*PEOPLE} - {*people}
    Path("wide.csv").write_text(f"item,{people[0]},{other}\n{item},red,red\n")
    refused = oversight("label", "import", "wide.csv", code=2)["error"]
    assert refused == f"wide.csv:2 [{other}]: the item {item!r} was never given to {other!r}"
    rows = {who: "" if who == other else "Blue" for who in PEOPLE}
    Path("wide.csv").write_text(f"item,{','.join(rows)}\n{item},{','.join(rows.values())}\n")
    assert oversight("label", "import", "wide.csv") == {"answers": 3, "new": 3}
    Path("wide.csv").write_text(f"item,{people[0]}\n{item},purple\n")
    assert (
        f"wide.csv:2 [{people[0]}]: 'purple' is not an option"
        in oversight("label", "import", "wide.csv", code=2)["error"]
    )
    Path("wide.csv").write_text(f"item,{people[0]},xyz\n{item},blue,blue\n")
    assert (
        "wide.csv:2 [xyz]: is not named after an annotator"
        in oversight("label", "import", "wide.csv", code=2)["error"]
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("study.toml", "seed = 7", "seed = 8", "cannot change once items are assigned"),
        ("study.toml", "# annotators_per_item = 3", "annotators_per_item = 2", "cannot change once"),
        (
            "study.toml",
            "# annotators_per_item = 3",
            "annotators_per_item = 1",
            "annotators_per_item]: input should",
        ),
        (
            "study.toml",
            "# annotators_per_item = 3",
            "annotators_per_item = 5",
            "5 annotators per item are requested",
        ),
        ("study.toml", '"panel"', '"panel-random"', "cannot change once items are assigned"),
        ("study.toml", '"panel"', '"partitioned"', "this study is a panel already"),
        ("experts.toml", '"ana"', '"amy"', "was assigned to 'ana' before"),
        (
            "experts.toml",
            '"ana"',
            '"ana"\ncapacity = 14',
            "'ana' would rate 15 items, but the capacity is 14",
        ),
        ("notes.csv", "n0,", "m0,", "cannot change once items are assigned"),
    ],
)
def test_drawn_assignments_cannot_be_redrawn(
    panel: Any, oversight: Callable[..., Any], file: str, old: str, new: str, words: str
) -> None:
    edit(file, old, new)
    assert words in oversight("label", "route", code=2)["error"]


def test_random_panels_take_more_items(panel: Any, oversight: Callable[..., Any], tmp_path: Path) -> None:
    Path("study.db").unlink()
    edit("study.toml", '"panel"', '"panel-random"')
    assert oversight("label", "route")["new"] == 3 * N
    with Path("notes.csv").open("a") as stream:
        stream.write("n99,one more\n")
    assert oversight("label", "route")["new"] == 3
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        assert len({(a.item_id, a.annotator) for a in store.panel.read_assignments()}) == 3 * N + 3


def test_verbs_that_do_not_fit_say_so(
    panel: Any, oversight: Callable[..., Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for words, said in (
        (
            (
                "panel",
                "agree",
            ),
            "the study has no ratings",
        ),
        (("label", "simulate", "--key", "k.csv"), "this study is a panel"),
        (("label", "watch", "--until-width", "0.1"), "a panel study has no accuracy interval"),
        (("estimate",), "this study is a panel; see: oversight panel agree"),
    ):
        assert said in oversight(*words, code=2)["error"]
    files = [Path(f) for f in oversight("label", "export")["files"]]
    for path in files:
        fill(path, truth)
    oversight("label", "import", *files)
    assert "no model was run yet" in oversight("panel", "certify", "--model", "large", code=2)["error"]
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        spec = make_spec("large", ModelSection(model="m"), "$text", None)
        store.runs.add_run(spec)
        failed = Prediction("n0", None, PredictionStatus.FAILED)
        store.runs.store_predictions(
            [(spec.id, failed), *((spec.id, Prediction(f"n{j}", 0)) for j in range(1, N))]
        )
    assert (
        "there is no value for the item 'n0'"
        in oversight("panel", "certify", "--model", "large", code=2)["error"]
    )
    assert main(["label", "status"]) == 0
    table = capsys.readouterr().out
    assert "15 / 15" in table
    assert "unsure" not in table
    assert main(["label", "route"]) == 0
    assert (
        "20 items, 3 of 4 annotators each: 60 ratings to give (0 new), 15 per person"
        in capsys.readouterr().out
    )


def test_a_panels_certainty_makes_the_strata_of_an_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    items = [f"n{j}" for j in range(60)]
    Path("notes.csv").write_text("id,text\n" + "".join(f"{i},note {i}\n" for i in items))
    Path("key.csv").write_text("id,label\n" + "".join(f"{i},{truth({'item': i})}\n" for i in items))
    oversight("init", "--items", "notes.csv", "--classes", "red,green,blue")
    oversight("label", "route")
    oversight("label", "simulate", "--key", "key.csv")
    # On even items all agree; on odd items cy says red; nobody rated the last ten items.
    votes = [("ana", truth), ("bo", truth), ("cy", lambda r: "red" if int(r["item"][1:]) % 2 else truth(r))]
    rows = [f"{i},{who},{say({'item': i})}\n" for i in items[:50] for who, say in votes]
    Path("ratings.csv").write_text("item,annotator,label\n" + "".join(rows))
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        spec = make_spec("small", ModelSection(model="m"), "$text", None)
        store.runs.add_run(spec)
        predicted = [Prediction(i, 2 if j % 2 else j % 3) for j, i in enumerate(items)]
        store.runs.store_predictions([(spec.id, p) for p in predicted])
        labels = decode(store.content.read_answers())
    strata = dict.fromkeys(items, "no vote") | stratify_by_certainty(make_panel(read_ratings("ratings.csv")))
    assert set(strata.values()) == {"p ≤ 0.7", "p > 0.9", "no vote"}
    by_vote = oversight("estimate", "--set", "estimate.panel=ratings.csv")["models"]["small"]["estimates"][
        "ml"
    ]
    wanted = accuracy(predicted, labels, strata=strata)
    assert (by_vote["estimate"], by_vote["low"]) == pytest.approx((wanted.value, wanted.low))
    # All items are labelled, so every item has the same weight, and strata with the same K are pooled.
    assert "stratified" in by_vote["flags"]
    assert by_vote["low"] == oversight("estimate")["models"]["small"]["estimates"]["ml"]["low"]
    Path("ratings.csv").write_text("item,annotator,label\nx,ana,red\nx,bo,blue\n")
    assert (
        "rates none of the study's items"
        in oversight("estimate", "--set", "estimate.panel=ratings.csv", code=2)["error"]
    )
    edit("study.toml", '# strata = "subject"', 'panel = "ratings.csv"\nstrata = "subject"')
    assert "not both" in oversight("estimate", code=2)["error"]


def test_intervals_on_few_items_say_whether_they_hold(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"i{j},{p},{'b' if (j, p) == (0, 'bo') else 'a'}\n" for j in range(8) for p in PEOPLE[:3]]
    Path("ratings.csv").write_text("item,annotator,label\n" + "".join(rows))
    Path("model.csv").write_text("item,label\n" + "".join(f"i{j},a\n" for j in range(8)))
    alpha = oversight("panel", "agree", "ratings.csv")["alpha"]
    assert (alpha["holds"], alpha["why"]) == (True, "")
    assert alpha["high"] - alpha["low"] > 0.8  # one of 24 ratings differs, so the interval is wide
    words = ("panel", "parity", "ratings.csv", "--model", "model.csv", "--positive", "b")
    overall = oversight(*words)["overall"]
    assert overall["delta"]["holds"]
    assert overall["detection"]["delta_f1"]["low"] < -0.5
    assert overall["detection"]["model"]["precision"] is None
    assert overall["detection"]["model"]["undefined"] == {"precision": "the class was given to no item"}
    capsys.readouterr()
    assert main(list(words)) == 0
    text = capsys.readouterr().out
    assert "all: no model's precision: the class was given to no item" in text


def test_a_later_file_changes_and_withdraws_labels(panel: Any, oversight: Callable[..., Any]) -> None:
    (path,) = [Path(f) for f in oversight("label", "export")["files"] if "ana" in f]
    fill(path, truth)
    read = oversight("label", "import", path)["answers"]
    items: list[str] = []

    def change(row: dict[str, str]) -> str:
        items.append(row["item"])
        return {1: "withdraw", 2: "red" if truth(row) != "red" else "blue"}.get(len(items), truth(row))

    fill(path, change)
    assert "label" in oversight("label", "import", path, code=2)["error"]
    assert oversight("label", "import", path, "--change") == {"answers": read, "new": 2}
    assert oversight("label", "import", path, "--change")["new"] == 0
    assert oversight("label", "status")["experts"]["ana"]["answered"] == read - 1
    with Store("sqlite:///study.db") as store:
        labels = {(rating.annotator, rating.item): rating.label for rating in store.panel.read_ratings()}
    assert ("ana", items[0]) not in labels
    assert labels["ana", items[1]] != truth({"item": items[1]})
    oversight("experts", "export", "ana")
    events = [event["kind"] for event in json.loads(Path("ana.json").read_text())["events"]]
    assert events.count("withdrawn") == 1
    assert oversight("store", "verify")["holds"]
