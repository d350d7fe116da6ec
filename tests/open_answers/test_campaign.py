"""A campaign on open answers: questions by the answer page and by spreadsheet, then estimates."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from openpyxl import load_workbook

from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.open_answers import read_frame
from oversight.harness.store import Store
from oversight.harness.types import Verdict
from oversight.protocols.collect.label_studio.labelling_page import TaskSheet, check_page
from oversight.protocols.open_answers import route_units
from oversight.protocols.routing import read_pending
from tests.answer_page.conftest import serve
from tests.fakes.openai_server import Reply, fake_openai
from tests.open_answers.open_study import DATA, KEY, MODELS, lay_out
from tests.protocols.sheets import read_table, save

Oversight = Callable[..., Any]
NAMED = re.compile(rf"\b({'|'.join(MODELS)})\b")


def read_truth() -> dict[tuple[str, str, str], str]:
    with Path(KEY).open(encoding="utf-8") as stream:
        return {(r["item"], r["model"], r["unit"]): r["label"] for r in csv.DictReader(stream)}


def true_scores() -> dict[str, float]:
    """Mean over items of points of what is met by the sum of positive points, clipped to [0, 1]."""
    truth = read_truth()
    items = [json.loads(line) for line in (DATA / "open_answers.jsonl").read_text().splitlines()]
    found = defaultdict[str, list[float]](list)
    for item in items:
        best = sum(max(0, c["points"]) for c in item["rubrics"])
        for model in MODELS:
            met = [c["points"] for c in item["rubrics"] if truth[item["id"], model, c["criterion"]] == "yes"]
            found[model].append(sum(met) / best)
    return {model: min(1.0, max(0.0, sum(scores) / len(scores))) for model, scores in found.items()}


def open_store() -> Store:
    return Store(read_study("study.toml").store_url)


def key_by_question() -> dict[str, tuple[str, str]]:
    """Question → what the key says of it, and the field of its unit."""
    truth, found = read_truth(), {}
    with open_store() as store:
        frame, drawn = read_frame(store), store.open_answers.read_draw()
    answers, units = {a.id: a for a in frame.answers}, {u.id: u for u in frame.units}
    for row in drawn:
        answer, unit = answers[row.answer], units[row.unit_id]
        found[row.question_id] = truth[answer.item_id, answer.model, unit.text], unit.field or ""
    return found


@pytest.mark.slow
def test_campaign_by_page_and_spreadsheets_covers_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight)
    routed = oversight("label", "route", "--questions", "200")
    assert abs(routed["drawn"]["questions"] - 200) <= 12
    assert routed["questions"] == routed["new"] == routed["drawn"]["questions"]
    key = key_by_question()
    with serve(tmp_path) as desk:  # kim starts to answer on the page
        own = desk.begin("kim")
        questions = desk.state(own)["questions"]
        for _ in range(12):
            asked = questions[0]
            assert asked["words"] == {"unsure": "Cannot tell", "skip": "Not my field"}
            assert not NAMED.search(json.dumps(asked))
            status, told = desk.answer(own, key[asked["id"]][0], id=asked["id"], comment="seen")
            assert status == 200
            questions = told["state"]["questions"]
    files = oversight("label", "export", "--format", "xlsx")["files"]
    assert sorted(Path(name).stem for name in files) == [
        f"questions-{name}" for name in ("ana", "ben", "fay", "kim")
    ]
    for name in files:
        book = load_workbook(name)
        sheet = book["questions"]
        head = [cell.value for cell in sheet[1]]
        assert not NAMED.search(str([*sheet.iter_rows(values_only=True)]))
        for row in sheet.iter_rows(min_row=2):
            cells = dict(zip(head, row, strict=True))
            cells["answer"].value = key[str(cells["question_id"].value)[2:18]][0]
        book.save(name)
    oversight("label", "import", *files)
    status = oversight("label", "status")
    assert status["open"] == 0
    found = oversight("estimate")
    assert (found["answered"], found["drawn"]) == (status["answered"], routed["drawn"]["questions"])
    for model, truth in true_scores().items():
        score = found["models"][model]["score"]
        assert score["low"] <= truth <= score["high"], model
    assert found["differences"][0]["low"] > 0  # amber is better than birch
    assert set(found["fields"]) == {"finance", "medicine", "physics"}
    assert oversight("store", "verify")["findings"] == []


@pytest.mark.parametrize(
    "change",
    [
        "unit SET points = points * 2",
        "unit_draw SET propensity = propensity / 2",
        "open_answer SET model = 'birch' WHERE model = 'amber' AND item_id = 'open-01'",
    ],
)
def test_changed_units_and_draws_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight, change: str
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, models=("amber",))
    oversight("label", "route", "--questions", "60")
    oversight("label", "audit", "audit.jsonl")
    for where in ([], ["audit.jsonl"]):
        assert oversight("store", "verify", *where)["findings"] == []
    with sqlite3.connect("study.db") as connection:
        connection.execute(f"UPDATE {change}")
    [finding] = oversight("store", "verify", code=1)["findings"]
    assert "altered or replaced after the freeze" in finding


def test_two_commands_at_once_make_one_draw(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, models=("amber",))
    text = Path("study.toml").read_text()
    Path("other.toml").write_text(f'{text}[experts]\nmodels = ["amber"]\n')

    def draw_meanwhile(_: str, n: int) -> Reply:
        if n == 0:
            route_units(read_study("other.toml"), 60)
        return Reply("0.5")

    with fake_openai(draw_meanwhile) as server, Path("study.toml").open("a") as file:
        file.write(f'[open]\njudge = "j"\n[models.j]\nmodel = "j"\nendpoint = "{server.url}"\n')
        file.write("concurrency = 1\nmax_tokens = 9\n")
        file.flush()
        capsys.readouterr()
        assert main(["label", "route", "--questions", "30"]) == 2
    assert "another command drew this study's questions" in capsys.readouterr().err
    with open_store() as store:
        drawn = {row.number for row in store.open_answers.read_draw()}
        assert 50 <= len(drawn) == len(store.content.read_questions())


def test_missing_item_is_reported_without_advice_to_remove_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, models=("amber",))
    lines = Path("items.jsonl").read_text().splitlines(keepends=True)
    Path("items.jsonl").write_text("".join(lines[1:]))
    capsys.readouterr()
    main(["predictions", "export", "all.csv"])
    assert "open-01; estimates still include them" in (told := capsys.readouterr().err)
    assert told.rstrip().endswith("or start a new study")


def test_equal_answers_are_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, models=("amber",))
    oversight("predictions", "import", str(DATA / "open_answers.amber.csv"), "--model", "twin")
    routed = oversight("label", "route")
    assert (routed["answers"], routed["units"], routed["questions"]) == (80, 160, 160)
    oversight("label", "simulate", "--key", write_twin_key())
    found = oversight("estimate")["models"]
    assert found["amber"]["score"]["value"] == found["twin"]["score"]["value"]
    assert found["amber"]["score"]["judged"] == found["twin"]["score"]["judged"] == 160


def write_twin_key() -> str:
    rows = [line for line in Path(KEY).read_text().splitlines() if ",amber," in line]
    twin = [line.replace(",amber,", ",twin,") for line in rows]
    Path("key.csv").write_text("\n".join(["item,model,unit,label", *rows, *twin]) + "\n")
    return "key.csv"


def test_answers_end_at_the_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, '[open]\ndraw = "first no"')
    first = oversight("label", "route", "--questions", "300")
    assert first["new"] < first["drawn"]["questions"]
    assert first["new"] + first["waiting"] == first["drawn"]["questions"]
    oversight("label", "simulate", "--key", KEY)
    last = oversight("label", "route")
    assert (last["new"], last["waiting"]) == (0, 0)
    assert first["new"] < last["questions"] < last["drawn"]["questions"]
    found = oversight("estimate")["models"]
    assert found["amber"]["no_error"]["value"] > found["cedar"]["no_error"]["value"]


def test_not_my_field_passes_a_question_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, models=("cedar",))
    forget_fields()
    routed = oversight("label", "route", "--questions", "40")
    (path, *_) = oversight("label", "export")["files"]
    rows = read_table(Path(path))
    save(Path(path), [{**row, "answer": "not my field"} for row in rows])
    oversight("label", "import", path)
    again = oversight("label", "route")
    assert again["new"] == len(rows)
    assert again["questions"] == routed["questions"] + len(rows)
    with open_store() as store:
        put = [row for row in store.open_answers.read_draw() if row.question_id]
    experts = defaultdict[int, list[str]](list)
    for row in put:
        experts[row.number].append(row.expert)
    assert all(len(set(names)) == len(names) for names in experts.values())
    assert sum(len(names) == 2 for names in experts.values()) == len(rows)
    assert main(["estimate"]) == 0


def forget_fields() -> None:
    lines = [json.loads(line) for line in Path("items.jsonl").read_text().splitlines()]
    for item in lines:
        for criterion in item["rubrics"]:
            del criterion["field"]
    Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in lines))


def test_second_draw_and_wrong_verbs_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight)
    oversight("label", "route", "--questions", "60")
    refused = {
        ("label", "route", "--questions", "90"): "cannot change",
        ("label", "route", "--more", "9"): "--more: a study of open answers has only one draw",
        ("label", "route", "--second"): "--second: second questions are about other options",
        ("label", "watch"): "`label watch` does not apply",
        ("label", "units", "--replace", "units.csv"): "were drawn",
        ("compare",): "oversight compare does not apply",
        ("plan",): "oversight plan does not apply",
        ("estimate", "--gold", "{}"): "--gold does not apply",
        ("estimate", "--set", "estimate.strata=x"): "strata does not apply",
        ("items", "remove", "open-01", "--reason", "x"): "`items remove` does not apply",
        ("run", "--workflow", "cot"): "--workflow does not apply",
    }
    for words, told in refused.items():
        capsys.readouterr()
        assert main([*words]) == 2, words
        assert told in capsys.readouterr().err, words


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("[experts]\nsensitivity = [0.5, 0.6]", "sensitivity: does not apply to open answers"),
        ("[experts]\nspecificity = [0.5, 0.7]", "specificity: does not apply to open answers"),
        ('[experts]\ndraw = "deviation"', "draw: does not apply to open answers"),
        ("[experts]\nannotators_per_item = 4", "annotators_per_item: does not apply to open answers"),
        ('[experts]\ngold = "g.csv"\ngold_share = 0.2', "gold_share: does not apply to open answers"),
        ("[experts]\noptions_per_item = 2", "options_per_item: does not apply to open answers"),
        ('[models]\njudge = "m"\n[models.m]\nmodel = "m"', "[models] judge does not apply to open answers"),
    ],
)
def test_settings_that_do_not_apply_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
    capsys: pytest.CaptureFixture[str],
    more: str,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, more, models=())
    assert main(["label", "route"]) == 2
    assert told in capsys.readouterr().err


def test_label_studio_tasks_offer_four_replies_and_hide_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight)
    oversight("label", "route", "--questions", "60")
    study = read_study("study.toml")
    sheet = TaskSheet.of(study)
    choices = [(c.get("alias"), c.get("value")) for c in ET.fromstring(sheet.page).iter("Choice")]  # noqa: S314  our own
    assert choices == [
        ("yes", "Yes"), ("no", "No"), ("unsure", "Cannot tell"), ("skip", "Not my field"),
    ]  # fmt: skip
    assert check_page(sheet.page, "page.xml", [Verdict.SKIP]) == sheet.page
    with open_store() as store:
        asked, items = read_pending(study, store), store.read_shown_items()
    tasks = [sheet.data(question, items[question.item_id]) for question in asked]
    assert all(task.keys() == {"question_id", "text", "question"} for task in tasks)
    assert all(str(task["question"]).startswith("Does the answer meet") for task in tasks)
    assert not NAMED.search(json.dumps(tasks))


def test_judge_draws_more_where_it_is_unsure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, '[open]\ndraw = "judge"\njudge = "judge.csv"')
    sure = {"open-01", "open-02", "open-03", "open-04", "open-05", "open-06", "open-07", "open-08"}
    rows = ["item,model,unit,probability"]
    for (item, model, unit), label in read_truth().items():
        confident = 0.99 if label == "yes" else 0.01
        rows.append(f'{item},{model},"{unit}",{confident if item in sure else 0.5}')
    Path("judge.csv").write_text("\n".join(rows[:-1]) + "\n")
    assert main(["label", "route", "--questions", "100"]) == 2
    assert "judge.csv: no probability for the unit" in capsys.readouterr().err
    Path("judge.csv").write_text("\n".join(rows) + "\n")
    oversight("label", "route", "--questions", "100")
    with open_store() as store:
        frame, drawn = read_frame(store), store.open_answers.read_draw()
    item_of = {answer.id: answer.item_id for answer in frame.answers}
    share = sum(item_of[row.answer] in sure for row in drawn) / len(drawn)
    assert share < 0.12  # these are a fifth of the items
    oversight("label", "simulate", "--key", KEY)
    assert oversight("estimate")["models"]["amber"]["score"]["value"] is not None


JUDGED = """\
[open]
draw = "{draw}"
judge = "{judge}"
[models.judge]
endpoint = "{url}"
model = "x"
"""


def judge_by_key(unread: int = 10**9) -> Callable[[str, int], Reply]:
    """Replies of a model that knows the key; every `unread`-th has no number."""
    known = {unit: label for (_, model, unit), label in read_truth().items() if model == "amber"}

    def reply(prompt: str, n: int) -> Reply:
        assert "Write a probability" in prompt
        assert not NAMED.search(prompt)
        (unit,) = re.findall("meet this criterion\\? “(.*)”", prompt)
        sure = 0.9 if known[unit] == "yes" else 0.1
        return Reply("unsure" if n % unread == unread - 1 else f"Probability: {sure}")

    return reply


def test_model_of_the_study_judges_units_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    with fake_openai(judge_by_key(unread=20)) as server:
        lay_out(tmp_path, oversight, JUDGED.format(draw="judge", judge="judge", url=server.url), ("amber",))
        oversight("label", "route", "--questions", "100")
        with open_store() as store:
            frame = read_frame(store)
        asked = [prompt for prompt in server.prompts if "Write a probability" in prompt]
        assert len(asked) == len(list(frame.pairs))
    oversight("label", "simulate", "--key", KEY)  # without the endpoint
    found = oversight("estimate")
    assert list(found["models"]) == ["amber"]
    assert found["models"]["amber"]["score"]["low"] <= true_scores()["amber"]


def test_judge_added_after_the_draw_narrows_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, models=("amber",))
    oversight("label", "route", "--questions", "80")
    oversight("label", "simulate", "--key", KEY)
    plain = oversight("estimate")["models"]["amber"]["score"]
    with fake_openai(judge_by_key()) as server:
        with Path("study.toml").open("a") as stream:
            stream.write(JUDGED.format(draw="equal", judge="judge", url=server.url))
        assert main(["estimate"]) == 2
        assert (
            "the judge 'judge' was not asked yet; ask it with: oversight label route"
            in capsys.readouterr().err
        )
        oversight("label", "route")
    judged = oversight("estimate")["models"]["amber"]["score"]
    assert judged["high"] - judged["low"] < plain["high"] - plain["low"]


@pytest.mark.parametrize(
    ("judge", "reply", "code", "told"),
    [
        ("judge", Reply("who knows"), 1, "the judge 'judge' gave no probability; its first reply is"),
        ("judge", Reply(status=400, body="{}"), 2, "refused: HTTP 400"),
        ("jugde", Reply("0.5"), 2, "[open] judge: there is no model 'jugde' under [models], and no file"),
    ],
)
def test_judge_without_probabilities_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    oversight: Oversight,
    capsys: pytest.CaptureFixture[str],
    judge: str,
    reply: Reply,
    code: int,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with fake_openai(lambda prompt, n: reply) as server:
        lay_out(tmp_path, oversight, JUDGED.format(draw="equal", judge=judge, url=server.url), ("amber",))
        capsys.readouterr()
        assert main(["label", "route"]) == code
    assert told in capsys.readouterr().err


def test_gold_units_tell_how_often_experts_err(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, '[experts]\ngold = "gold.csv"')
    other = {"yes": "no", "no": "yes"}
    rows, wrong = ["item,model,unit,label"], ["item,model,unit,label"]
    for place, ((item, model, unit), label) in enumerate(read_truth().items()):
        rows.append(f'{item},{model},"{unit}",{label}')
        wrong.append(f'{item},{model},"{unit}",{label if place % 5 else other[label]}')
    Path("gold.csv").write_text("\n".join(rows) + "\n")
    Path("wrong.csv").write_text("\n".join(wrong) + "\n")
    oversight("label", "route", "--questions", "300")
    oversight("label", "simulate", "--key", "wrong.csv")
    everybody = next(e for e in oversight("estimate")["experts"] if not e["expert"])
    assert 0.65 < everybody["yes_for_yes"]["value"] < 0.95
    assert everybody["no_for_no"]["of"] > 50
    capsys.readouterr()
    assert main(["estimate"]) == 0
    assert "amber: score corrected for experts' errors" in capsys.readouterr().out


def test_answers_after_the_draw_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, oversight, models=("amber",))
    oversight("label", "route", "--questions", "40")
    assert oversight("estimate")["later"] == []
    oversight("predictions", "import", str(DATA / "open_answers.birch.csv"), "--model", "birch")
    (later,) = oversight("estimate")["later"]
    assert later.startswith("birch: 40 answers arrived after the draw")
