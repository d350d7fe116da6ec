"""Answers that come and go: an export that is brought in again, and a log that ended with errors."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.analysis import find_newest_runs
from oversight.harness.cli.main import main
from oversight.harness.store import Store

Oversight = Callable[..., Any]
LOGS = Path(__file__).parents[1] / "datasets" / "logs"
QUESTIONS = Path(__file__).parents[2] / "data" / "questions.jsonl"
TABLE = """\
id,prediction,raw,error,sample,confidence
i0,dd,"It is
dd, I say",,0,0.25
i1,,no idea; none,,0,
i2,,,timeout: 60 s,0,
i3,Dd,,,0,
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Path:
    """Two models' answers in a study whose options differ in a letter's case."""
    monkeypatch.chdir(tmp_path)
    items = [{"id": f"i{j}", "text": f"item {j}", "options": ["DD", "Dd", "dd"]} for j in range(4)]
    Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    Path("study.toml").write_text('[study]\nname = "t"\n[items]\nfile = "items.jsonl"\n')
    Path("one.csv").write_text(TABLE)
    Path("two.csv").write_text(TABLE.replace("dd", "DD"))
    for name in ("one", "two"):
        oversight("predictions", "import", f"{name}.csv", "--model", name)
    return tmp_path


def read_lines(oversight: Oversight, model: str) -> list[Any]:
    oversight("predictions", "export", "look.jsonl")
    rows = [json.loads(line) for line in Path("look.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{**row, "run": "", "model": ""} for row in rows if row["model"] == model]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_export_comes_in_again_as_it_was(study: Path, oversight: Oversight, ending: str) -> None:
    before = {name: read_lines(oversight, name) for name in ("one", "two")}
    assert [row["option_text"] for row in before["one"]] == ["dd", None, None, "Dd"]
    assert [row["status"] for row in before["one"]] == ["ok", "unreadable", "failed", "ok"]
    file = f"all.{ending}"
    assert oversight("predictions", "export", file)["rows"] == 8
    if ending == "csv":
        assert Path(file).read_text(encoding="utf-8").startswith("model,run,item_id,")
    again = study / "again"
    again.mkdir()
    for name in ("items.jsonl", "study.toml", file):
        shutil.copy(name, again)
    config = again / "study.toml"
    for name in ("one", "two"):
        oversight("predictions", "import", again / file, "--model", name, "--study", config)
    oversight("predictions", "export", again / "look.jsonl", "--study", config)
    rows = [json.loads(line) for line in (again / "look.jsonl").read_text(encoding="utf-8").splitlines()]
    for name in ("one", "two"):
        assert [{**r, "run": "", "model": ""} for r in rows if r["model"] == name] == before[name]


def test_the_latest_import_counts(study: Path, oversight: Oversight) -> None:
    """Also if it brings back answers that another import replaced by mistake."""
    first = oversight("predictions", "import", "one.csv", "--model", "one")
    wrong = oversight("predictions", "import", "two.csv", "--model", "one")
    assert "replaces" not in first
    assert wrong["replaces"] == first["run"] != wrong["run"]
    assert shown_option() == "DD"
    again = oversight("predictions", "import", "one.csv", "--model", "one")
    assert (again["run"], again["replaces"]) == (first["run"], wrong["run"])
    assert shown_option() == "dd"
    assert "replaces" not in oversight("predictions", "import", "one.csv", "--model", "one")


def shown_option() -> str:
    """The option of model "one" for the first item, as pages and estimates read it."""
    with Store("sqlite:///study.db") as store:
        [run] = find_newest_runs(store, ["one"]).runs
        item = store.content.read_items()[0]
        [option] = [p.option for p in store.runs.read_predictions(run["id"]) if p.item_id == "i0"]
    assert option is not None
    return item.options[option]


def test_of_several_models_one_is_to_be_named(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    oversight("predictions", "export", "all.csv")
    assert main(["predictions", "import", "all.csv", "--model", "three"]) == 2
    assert "no model 'three'; the log contains answers of 2 models: one, two" in capsys.readouterr().err


def test_an_unknown_ending_is_refused(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predictions", "export", "all.txt"]) == 2
    assert "all.txt: unknown format; the name must end in .csv, .jsonl, .parquet" in capsys.readouterr().err
    assert not list(study.glob("all.txt*"))


def write_log(path: Path, status: str) -> None:
    """The real log in an archive, as its program writes it, with an error in some samples."""
    log = json.loads((LOGS / "questions.json").read_text(encoding="utf-8"))
    samples = [sample for sample in log["samples"] if sample["epoch"] == 1]
    for sample in samples[:2]:
        sample["error"] = {"message": "RateLimitError: 429", "traceback": "", "traceback_ansi": ""}
        sample["output"] = {"model": "", "choices": [], "completion": ""}
        sample["scores"] = {}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({**log, "samples": None, "status": status}))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))


def test_a_log_with_errors_says_so_when_it_comes_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(f'[study]\nname = "t"\n[items]\nfile = "{QUESTIONS}"\n')
    write_log(Path("broken.eval"), "error")
    assert main(["predictions", "import", "broken.eval", "--model", "m"]) == 0
    told = capsys.readouterr().out
    assert (
        "2 answers ended with errors and count as failed predictions; for example: RateLimitError: 429"
        in told
    )
    assert "the log is incomplete (error)" in told
    write_log(Path("good.eval"), "success")
    found = oversight("predictions", "import", "good.eval", "--model", "n")
    assert (found["errors"], found["failed"], found["ended"]) == (2, 2, "")


def test_a_study_is_named_by_its_folder_too(study: Path, oversight: Oversight) -> None:
    assert oversight("items", "check", "--study", study) == oversight("items", "check")


def test_columns_that_are_not_read_are_named(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = Path("wrong.csv")
    rows.write_text("id,prediction,confidense\ni0,dd,0.9\n")
    assert oversight("predictions", "import", rows, "--model", "other")["unread"] == ["confidense"]
    assert main(["predictions", "import", str(rows), "--model", "other"]) == 0
    assert "columns that are not read: confidense" in capsys.readouterr().out


MODELS = "id,model,prediction\ni0,m,dd\ni1,x,DD\ni2,m,Dd\n"


def test_rows_of_other_models_are_left_out(study: Path, oversight: Oversight) -> None:
    Path("models.csv").write_text(MODELS)
    found = oversight("predictions", "import", "models.csv", "--model", "m")
    assert (found["ok"], found["left_out"]) == (2, {"answer of the model 'x'": 1})
    assert "unread" not in found
    assert [row["item_id"] for row in read_lines(oversight, "m")] == ["i0", "i2"]
    told = oversight("predictions", "import", "models.csv", "--model", "y", code=2)["error"]
    assert "no model 'y'; the log contains answers of 2 models: m, x; choose one with --model" in told


@pytest.mark.parametrize(
    ("old", "told"), [("i0,m", "is 'x', but earlier rows name no model"), ("i1,x", "is empty")]
)
def test_model_that_only_some_rows_name_is_refused(
    old: str, told: str, study: Path, oversight: Oversight
) -> None:
    Path("models.csv").write_text(MODELS.replace(old, old[:3]))
    error = oversight("predictions", "import", "models.csv", "--model", "m", code=2)["error"]
    assert f"models.csv:3 [model]: {told}; name the model in every row, or in none" in error


@pytest.mark.parametrize("value", ["False", "0", "nan", "None", "NULL", "0.0"])
def test_value_for_no_error_leaves_the_answer(value: str, study: Path, oversight: Oversight) -> None:
    Path("errors.csv").write_text(f"id,prediction,error\ni0,dd,{value}\ni1,DD,\n")
    found = oversight("predictions", "import", "errors.csv", "--model", "m")
    assert (found["ok"], found["failed"]) == (2, 0)


def test_false_in_typed_rows_is_no_error(study: Path, oversight: Oversight) -> None:
    rows = [{"id": "i0", "prediction": "dd", "error": False}, {"id": "i1", "error": True, "prediction": None}]
    Path("errors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = oversight("predictions", "import", "errors.jsonl", "--model", "m")
    assert (found["ok"], found["failed"]) == (1, 1)


def test_row_with_a_prediction_and_an_error_is_refused(study: Path, oversight: Oversight) -> None:
    Path("errors.csv").write_text("id,prediction,error\ni0,dd,ok\n")
    told = oversight("predictions", "import", "errors.csv", "--model", "m", code=2)["error"]
    assert "errors.csv:2 [error]: is 'ok', but the row has a prediction; leave one of them empty" in told
