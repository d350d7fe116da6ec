"""Models that state a probability of every option in their reply."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.analysis import OpenStudy
from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.judges.sources import read_judge
from oversight.harness.llm import ReplyForm, read_reply
from oversight.harness.store import Store
from tests.cli.colours import CLASSES, write_colours
from tests.fakes.openai_server import Reply, fake_openai

ORGANS = ("heart", "lung", "lung cancer")
Oversight = Callable[..., Any]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Chest pain.\nPROBABILITIES: A 0.7, B 0.2, C 0.1", (0.7, 0.2, 0.1)),
        ("PROBABILITIES: A 0.7, C 0.3", (0.7, 0.0, 0.3)),
        ("**Probabilities:** A: 70%, B: 20 %, C: 10%", (0.7, 0.2, 0.1)),
        ("PROBABILITIES:\n- A: .7\n- (B) = 0.2\n- C (lung cancer) - 0.1.", (0.7, 0.2, 0.1)),
        ('{"probabilities": {"A": 0.25, "B": 0.5, "C": 0.25}}', (0.25, 0.5, 0.25)),
        ("PROBABILITIES: X 0.6, Y 0.4\nno:\nPROBABILITIES: A 0.33, B 0.33, C 0.36", (0.33, 0.33, 0.36)),
        ("<think>PROBABILITIES: A 1</think>PROBABILITIES: B 1", (0.0, 1.0, 0.0)),
        ("PROBABILITIES: A 0.49, B 0.49", (0.5, 0.5, 0.0)),
        ("PROBABILITIES: (A) heart 0.7, (B) lung 0.2, (C) lung cancer 0.1", (0.7, 0.2, 0.1)),
        ("PROBABILITIES: A. heart: 0.7, B) lung: 0.2, c 0.1", (0.7, 0.2, 0.1)),
        (
            "PROBABILITIES:\n\n| option | p |\n|---|---|\n| A | 0.7 |\n| B | 0.3 |\n\nThat is all.",
            (0.7, 0.3, 0),
        ),
        ("PROBABILITIES: A ~0.7, B → 0.2 and C 1e-1", (0.7, 0.2, 0.1)),
        ("PROBABILITIES: A 0.7, B 0.3\nMy probabilities: subjective.", (0.7, 0.3, 0.0)),
        ("PROBABILITIES: A 0.6, B 0.35", (12 / 19, 7 / 19, 0)),
    ],
)
def test_distribution_is_read(text: str, expected: tuple[float, ...]) -> None:
    read = read_reply(text, ORGANS, ReplyForm("probabilities", "letter"))
    assert read.probabilities == pytest.approx(np.array(expected) / sum(expected), abs=1e-9)
    best = [k for k, p in enumerate(expected) if p == max(expected)]
    assert read.option == (best[0] if len(best) == 1 else None)
    assert read.reason == ("" if len(best) == 1 else "several")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ANSWER: B", "none"),
        ("I'm sorry, I cannot help.", "refusal"),
        ("PROBABILITIES: A 0.7, B 0.7", "malformed"),
        ("PROBABILITIES: A 0.7", "malformed"),
        ("PROBABILITIES: A 0,7, B 0,3", "malformed"),
        ("PROBABILITIES: A 0.5, B 0.5, A 0.2", "malformed"),
        ("PROBABILITIES: A -0.7, B 0.3", "malformed"),
        ("PROBABILITIES: A 170%, B -70%", "malformed"),
        ("PROBABILITIES: A 0.9, B 0.1\n- C: 100% ruled out.", "malformed"),
        ("PROBABILITIES: A 0.98, B <0.02", "malformed"),
        ("PROBABILITIES: A 70%, B 0.3", "malformed"),
        ("PROBABILITIES: A 0.9, probably, B 0.1", "malformed"),
        ("PROBABILITIES: high for A", "malformed"),
        ("", "empty"),
    ],
)
def test_text_without_a_distribution_is_unreadable(text: str, reason: str) -> None:
    read = read_reply(text, ORGANS, ReplyForm("probabilities", "letter"))
    assert (read.option, read.reason, read.probabilities) == (None, reason, ())


def test_reply_cut_by_the_limit_states_nothing() -> None:
    form = ReplyForm("probabilities", "letter")
    assert read_reply("PROBABILITIES: A 0.9, B 0.1", ORGANS, form, cut=True).option is None


def test_options_are_named_by_their_texts() -> None:
    read = read_reply(
        "PROBABILITIES: Lung cancer 0.6, lung 0.3, heart 0.1", ORGANS, ReplyForm("probabilities", "option")
    )
    assert read.probabilities == pytest.approx((0.1, 0.3, 0.6))


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        (("heart", "cancer", "lung cancer"), "heart 0.96, lung cancer 0.04", (0.96, 0, 0.04)),
        (("heart", "heart (left)", "lung"), "heart (left) 0.02, lung 0.98", (0, 0.02, 0.98)),
        (("wait, then see", "see"), "wait, then see 0.6; see 0.4", (0.6, 0.4)),
        (("0", "1", "2"), "\n2: 0\n0: 1\n1: 0", (1, 0, 0)),
        (("0.5", "1.5"), "0.5: 0.25, 1.5: 0.75", (0.25, 0.75)),
        (("DD", "Dd", "dd"), "dd 0.5, DD 0.3, Dd 0.2", (0.3, 0.2, 0.5)),
        (tuple(map(str, range(1, 41))), "1: 0\n2: 1\n3: 0", (0, 1, *[0] * 38)),
    ],
)
def test_options_may_contain_each_other_or_numbers(
    options: tuple[str, ...], text: str, expected: tuple[float, ...]
) -> None:
    read = read_reply(f"PROBABILITIES: {text}", options, ReplyForm("probabilities", "option"))
    assert read.probabilities == pytest.approx(expected)


def test_long_hostile_replies_are_unreadable() -> None:
    for filling in ("*'", " (", "A ", "| ", "0.1 ", "probabilities: "):
        text = "PROBABILITIES: A" + filling * 50_000
        assert read_reply(text[:99_000], ORGANS, ReplyForm("probabilities", "letter")).option is None


def begin(url: str, model: str = 'answer = "probabilities"', more: str = "") -> None:
    write_colours(12)
    Path("study.toml").write_text(
        f'[study]\nname = "t"\nseed = 3\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
        f'[models]\njudge = "wise"\n[models.wise]\nmodel = "m"\nendpoint = "{url}"\n{model}\n{more}'
    )


def say(prompt: str, n: int) -> Reply:
    if "PROBABILITIES: X 0.6" not in prompt:
        return Reply("### A")
    return Reply("Hm.\nPROBABILITIES: A 0.2, B 0.7, C 0.1" if n % 4 else "PROBABILITIES: A 0.5, B 0.5")


def test_judge_that_states_probabilities_has_a_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    with fake_openai(say) as server:
        plain = f'[models.plain]\nmodel = "p"\nendpoint = "{server.url}"\n'
        begin(server.url, more=plain)
        oversight("run")
        asked = len(server.prompts)
        oversight("run")
        assert len(server.prompts) == asked
        assert sum("### X" in prompt for prompt in server.prompts) == 12
    loaded = read_study("study.toml")
    with Store(loaded.store_url) as store:
        items = store.content.read_items()
        judge = read_judge(OpenStudy(loaded, store), "wise")
        (run,) = [run for run in store.runs.read_runs() if run["name"] == "wise"]
        found = {p.item_id: p for p in store.runs.read_predictions(run["id"])}
        vectors = store.runs.read_vectors(run["id"])
    assert judge.stated
    for row, item in zip(judge.p, items, strict=True):
        shown = [row[k] for k in item.permutation]
        prediction = found[item.id]
        if prediction.option is None:
            assert shown == pytest.approx([0.5, 0.5, 0.0])
            assert prediction.reason == "several"
        else:
            assert shown == pytest.approx([0.2, 0.7, 0.1])
            assert prediction.confidence == pytest.approx(0.7)
            assert prediction.option == item.permutation[1]
    # Replies parsed by another version are parsed again, including their probabilities.
    with Store(loaded.store_url) as store:
        (first, *_) = [p for p in found.values() if p.option is not None]
        store.runs.store_predictions([(run["id"], replace(first, option=None, confidence=None))])
        store.runs.drop_vectors(run["id"], [first.item_id])
    reread = {run["name"]: run for run in oversight("predictions", "reread", "--write")["runs"]}
    assert sum(reread["wise"]["changes"].values()) == 1
    assert not reread["plain"]["changes"]
    with Store(loaded.store_url) as store:
        assert store.runs.read_vectors(run["id"]) == vectors
        assert {p.item_id: p for p in store.runs.read_predictions(run["id"])} == found


def test_own_template_gets_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    with fake_openai(lambda p, n: Reply("PROBABILITIES: red 0.9, blue 0.1")) as server:
        begin(server.url, "", '[prompt]\ntemplate = "prompt.txt"\nanswer = "probabilities"\n')
        Path("prompt.txt").write_text("$text: one of $names?")
        assert oversight("run")["models"]["wise"]["ok"] == 12
        question, request = server.prompts[0].split("\n\n", 1)
        assert question.startswith("number ")
        assert request.startswith("Think as long")
        assert f"are among {question.rpartition(': one of ')[2][:-1]}, and" in request


def test_settings_without_effect_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    prompt = '[prompt]\nanswer = "probabilities"\n'
    begin("http://localhost:9", "", f"{prompt}pattern = '(?P<answer>x)'\n")
    assert main(["run"]) == 2
    assert "[prompt] `pattern` finds a single option" in capsys.readouterr().err
    Path("study.toml").write_text(
        f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nanswers = "open"\n{prompt}'
    )
    assert main(["run"]) == 2
    assert "[prompt] answer: does not apply to open answers" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["samples = 3", 'structured = "auto"', "logprobs = true"])
def test_contradicting_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    monkeypatch.chdir(tmp_path)
    begin("http://localhost:9", f'answer = "probabilities"\n{other}')
    assert main(["run"]) == 2
    told = f'[models.wise] {other.split(maxsplit=1)[0]} does not apply to answer = "probabilities"'
    assert told in capsys.readouterr().err
