"""Sources of units: rubrics in every form, sentences, claims listed by a model, corrections by hand."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.open_answers import read_frame
from oversight.harness.open_answers.answer_frame import split_sentences
from oversight.harness.store import Store, StoredUnit
from tests.fakes.openai_server import Reply, fake_openai

Oversight = Callable[..., Any]
STUDY = '[study]\nname = "t"\n[items]\nfile = "{file}"\nanswers = "open"\n{more}\n'
EXPERTS = '[[expert]]\nname = "ana"\nclasses = ["*"]\n'
ANSWER = "Take 5 mg at night. It thins the blood.\n- Avoid alcohol"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("experts.toml").write_text(EXPERTS)


def begin(oversight: Oversight, items: str, more: str = "", file: str = "items.jsonl") -> None:
    Path(file).write_text(items)
    Path("study.toml").write_text(STUDY.format(file=file, more=more))
    rows = [{"id": name, "raw": ANSWER} for name in ("q1", "q2")]
    Path("said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    oversight("predictions", "import", "said.jsonl", "--model", "m")


def read_stored() -> list[StoredUnit]:
    with Store(read_study("study.toml").store_url) as store:
        return list(read_frame(store).units)


def as_lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


LISTED = [{"criterion": "names the dose", "points": 5, "field": "law"}, {"criterion": "lies", "points": -2}]
PLAIN = as_lines({"id": "q1", "text": "a?"}, {"id": "q2", "text": "b?"})
WANTED = [("q1", "names the dose", 5.0, "law"), ("q1", "lies", -2.0, None), ("q2", "is short", 1.0, None)]


@pytest.mark.parametrize(
    ("items", "more", "rubric"),
    [
        (
            as_lines(
                {"id": "q1", "text": "a?", "rubrics": LISTED},
                {"id": "q2", "text": "b?", "rubrics": [{"criterion": "is short"}]},
            ),
            "",
            "",
        ),
        (
            as_lines(
                {"id": "q1", "text": "a?", "marks": json.dumps(LISTED)},
                {"id": "q2", "text": "b?", "marks": '[{"text": "is short"}]'},
            ),
            '[open]\nrubric = "marks"',
            "",
        ),
        (
            PLAIN,
            '[open]\nrubric = "rubric.csv"',
            "item,criterion,points,field\nq1,names the dose,5,law\nq1,lies,'-2,\nq2,is short,,\n",
        ),
        (
            as_lines(
                {"id": "q1", "text": "a?", "criterion_1": "names the dose", "points_1": 5, "field_1": "law",
                 "criterion_2": "lies", "points_2": -2},
                {"id": "q2", "text": "b?", "criterion_1": "is short", "criterion_2": ""},
            ),
            "",
            "",
        ),
    ],
)  # fmt: skip
def test_rubrics_are_read_in_every_form(oversight: Oversight, items: str, more: str, rubric: str) -> None:
    Path("rubric.csv").write_text(rubric)
    begin(oversight, items, more)
    assert oversight("label", "units")["units"] == 3
    assert [(u.item_id, u.text, u.points, u.field) for u in read_stored()] == WANTED


def test_healthbench_file_needs_only_its_columns_named(oversight: Oversight) -> None:
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    rubric = {"criterion": "asks for age", "points": 7, "tags": ["level:example", "axis:context"]}
    rows = [
        {
            "prompt_id": name, "prompt": prompt, "rubrics": [rubric], "example_tags": ["theme:x"],
            "ideal_completions_data": None,
        }
        for name, prompt in (("q1", [*turns, {"role": "user", "content": "I ache"}]), ("q2", turns[:1]))
    ]  # fmt: skip
    begin(oversight, as_lines(*rows), 'id = "prompt_id"\ntext = "prompt"')
    checked = oversight("items", "check")
    assert checked["items"] == 2
    assert checked["first"]["text"] == "user: Hello\n\nassistant: Hi\n\nuser: I ache"
    oversight("label", "units")
    assert [(u.item_id, u.text, u.points, u.field) for u in read_stored()] == [
        (name, "asks for age", 7.0, "context") for name in ("q1", "q2")
    ]


@pytest.mark.parametrize(
    ("items", "told"),
    [
        (
            as_lines(
                {"id": "q1", "text": "a?", "rubrics": [*LISTED, {"criterion": "x"}]},
                {"id": "q2", "text": "b?", "rubrics": LISTED},
            ),
            "items.jsonl:1 [points]: a criterion has no points, but others of its item have",
        ),
        (
            as_lines(
                {"id": "q1", "text": "a?", "criterion_1": "x", "points_1": "", "criterion_2": "y"}
                | {"points_2": 5},
                {"id": "q2", "text": "b?", "criterion_1": "z"},
            ),
            "items.jsonl:1 [points_1]: a criterion has no points",
        ),
        (
            as_lines({"id": "q1", "text": "a?"}, {"id": "q2", "text": "b?"}),
            "items.jsonl:1 [rubrics]: a column is missing: rubrics",
        ),
        (
            as_lines(
                {"id": "q1", "text": "a?", "rubrics": LISTED},
                {"id": "q2", "text": "b?", "rubrics": [{"criterion": "x", "points": "many"}]},
            ),
            "items.jsonl:2 [points]: must be a number, is 'many'",
        ),
        (
            as_lines(
                {"id": "q1", "text": "a?", "rubrics": LISTED},
                {"id": "q2", "text": "b?", "rubrics": LISTED[1:]},
            ),
            "no criterion of the item 'q2' has positive points",
        ),
        (
            as_lines(
                {"id": "q1", "text": "a?", "rubrics": LISTED}, {"id": "q2", "text": "b?", "rubrics": []}
            ),
            "the item 'q2' has no rubric",
        ),
    ],
)
def test_wrong_rubrics_are_refused(
    oversight: Oversight, capsys: pytest.CaptureFixture[str], items: str, told: str
) -> None:
    begin(oversight, items)
    assert main(["label", "route"]) == 2
    assert told in capsys.readouterr().err
    assert read_stored() == []


def test_sentences_are_units_and_marked_in_their_answer(oversight: Oversight) -> None:
    begin(oversight, PLAIN, '[open]\nunits = "sentences"')
    oversight("label", "route")
    texts = [unit.text for unit in read_stored()]
    assert texts == 2 * ["Take 5 mg at night.", "It thins the blood.", "Avoid alcohol"]
    (path,) = oversight("label", "export")["files"]
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        unit = row["question"].removeprefix("Is this true? “").removesuffix("”")
        assert f"【{unit}】" in row["text"]


def test_units_are_corrected_by_hand_before_the_draw(
    oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(oversight, PLAIN, '[open]\nunits = "sentences"')
    oversight("label", "units", "units.csv")
    with Path("units.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows[0]["text"], rows[1]["field"] = "Take 5 mg.", "medicine"
    with Path("mine.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows[:-2])
    oversight("label", "units", "--replace", "mine.csv")
    found = read_stored()
    assert [(u.text, u.field) for u in found[:2]] == [
        ("Take 5 mg.", None),
        ("It thins the blood.", "medicine"),
    ]
    assert len(found) == 4
    Path("mine.csv").write_text("item,answer,text,points,field\nq9,,x,1,\n")
    assert main(["label", "units", "--replace", "mine.csv"]) == 2
    assert "mine.csv:2 [item]: 'q9' is no item of the study" in capsys.readouterr().err
    Path("mine.csv").write_text("item,answer,text,points,field\nq1,,x,5,\nq1,,y,,\n")
    assert main(["label", "units", "--replace", "mine.csv"]) == 2
    assert "mine.csv:3 [points]: a criterion has no points" in capsys.readouterr().err


def test_claims_are_listed_by_a_model_once(oversight: Oversight) -> None:
    def list_claims(prompt: str, n: int) -> Reply:
        assert "Take 5 mg at night." in prompt
        return Reply("- The dose is 5 mg.\n- It thins the blood.")

    with fake_openai(list_claims) as server:
        model = f'[models.lister]\nendpoint = "{server.url}"\nmodel = "x"\n'
        begin(oversight, PLAIN, f'[open]\nunits = "claims"\nsplitter = "lister"\n{model}')
        assert oversight("label", "units")["units"] == 4
        oversight("label", "route")
        assert len(server.prompts) == 1  # both answers read the same
    assert [u.text for u in read_stored()] == 2 * ["The dose is 5 mg.", "It thins the blood."]
    assert oversight("label", "status")["asked"] == 4


def test_list_of_claims_that_was_cut_is_refused(
    oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = Reply("- The dose is 5 mg.\n- It thins the bl", finish_reason="length")
    with fake_openai(lambda prompt, n: cut) as server:
        model = f'[models.lister]\nendpoint = "{server.url}"\nmodel = "x"\n'
        begin(oversight, PLAIN, f'[open]\nunits = "claims"\nsplitter = "lister"\n{model}')
        assert main(["label", "route"]) == 1
        assert "set a larger max_tokens under [models.lister]" in capsys.readouterr().err
    assert not read_stored()


def test_answer_that_was_cut_is_counted_and_stays_so_when_read_again(oversight: Oversight) -> None:
    def answer(prompt: str, n: int) -> Reply:
        return Reply("The dose is", finish_reason="length") if "a?" in prompt else Reply("5 mg.")

    with fake_openai(answer) as server:
        model = f'[models.small]\nendpoint = "{server.url}"\nmodel = "x"\nmax_tokens = 8\n'
        begin(oversight, PLAIN, f'[open]\nunits = "sentences"\n{model}')
        (made,) = oversight("run")["models"].values()
        assert (made["ok"], made["truncated"]) == (1, 1)
        assert len(server.prompts) == 3  # the cut answer is requested again with a larger limit
    (again,) = (
        run for run in oversight("predictions", "reread", "--write")["runs"] if run["name"] == "small"
    )
    assert not again["changes"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Это первое предложение. Это второе.", 2),
        ("Das hilft. Über Nacht wirkt es.", 2),
        ("这是第一句。这是第二句。", 2),
        ("هذه الجملة الأولى. هذه الثانية؟ نعم.", 3),
        ("Take it. **Avoid** alcohol.", 2),
        ("It works (approx. 5 mg). the rest is 7.5 mg, e.g. at night.", 1),
    ],
)
def test_sentences_of_every_script_are_units(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


@pytest.mark.parametrize("repeated", [". ", "Dr. "])
def test_a_model_that_repeats_itself_is_read_quickly(repeated: str) -> None:
    started = time.process_time()
    assert split_sentences("It works. " + repeated * 20_000)[0] == "It works."
    assert time.process_time() - started < 3


def test_run_asks_only_models_that_answer(oversight: Oversight) -> None:
    with fake_openai(lambda prompt, n: Reply("0.5")) as server:
        models = "".join(
            f'[models.{name}]\nendpoint = "{server.url}"\nmodel = "x"\n' for name in ("judge", "small")
        )
        begin(oversight, PLAIN, f'[open]\nunits = "sentences"\njudge = "judge"\n{models}')
        assert list(oversight("run")["models"]) == ["small"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('classes = ["a", "b"]', "classes: open answers are texts and have no options"),
        ('[experts]\nprotocol = "partitioned"', "require each other"),
        ('[open]\nunits = "claims"', "set both `splitter` and units"),
        ('[open]\ndraw = "judge"', "needs the name of a model or of a file of probabilities"),
        ('[open]\nunits = "answer"\nrubric = "r.csv"', "leave out `rubric`, or set units"),
    ],
)
def test_wrong_settings_are_refused(capsys: pytest.CaptureFixture[str], more: str, told: str) -> None:
    Path("items.jsonl").write_text(PLAIN)
    Path("study.toml").write_text(STUDY.format(file="items.jsonl", more=more))
    assert main(["items", "check"]) == 2
    assert told in capsys.readouterr().err


def test_init_proposes_units_and_an_expert_per_field(
    oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("experts.toml").unlink()
    Path("items.jsonl").write_text(as_lines({"id": "q1", "text": "a?", "rubrics": LISTED}))
    assert oversight("init", "--open", "--items", "items.jsonl")["fields"] == ["law"]
    study = read_study("study.toml")
    assert (study.is_open, study.open.units) == (True, "rubric")
    assert 'classes = ["law"]' in Path("experts.toml").read_text()
    Path("q.csv").write_text("id,question\nq1,a?\n")
    assert oversight("init", "other", "--open", "--items", "q.csv")["units"] == "sentences"
    assert read_study("other/study.toml").items.text == "question"
    assert main(["init", "third", "--open", "--preset", "mmlu-pro"]) == 2
    assert "leave out --preset" in capsys.readouterr().err
    assert not Path("third").exists()


def test_the_command_without_a_verb_names_the_next_step(
    oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("items.jsonl").write_text(PLAIN)
    Path("study.toml").write_text(STUDY.format(file="items.jsonl", more='[open]\nunits = "answer"'))
    assert main([]) == 0
    assert "ask the models (oversight run)" in capsys.readouterr().out
    begin(oversight, PLAIN, '[open]\nunits = "answer"')
    oversight("label", "route")
    (path,) = oversight("label", "export")["files"]
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        rows = [{**row, "answer": "Yes"} for row in csv.DictReader(stream)]
    with Path(path).open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    oversight("label", "import", path)
    capsys.readouterr()
    assert main([]) == 0
    assert "oversight label route (it may draw more questions)" in capsys.readouterr().out
