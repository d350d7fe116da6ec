"""Second experts of questions about open answers; their replies measure errors, and change no score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.open_answers import (
    draw_questions,
    estimate_open,
    estimate_study,
    join_replies,
    read_judged,
)
from oversight.harness.open_answers.judged_answers import find_states
from oversight.harness.store import Store
from tests.open_answers.open_study import KEY, lay_out
from tests.open_answers.test_campaign import forget_fields, key_by_question, read_truth
from tests.open_answers.worlds import rubric_table
from tests.protocols.sheets import read_table, save

Oversight = Callable[..., Any]
OVERLAP = "[experts]\noverlap = 0.3"
FIELDS = ("finance", "medicine", "physics")
OTHER = {"yes": "no", "no": "yes"}


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Callable[..., None]:
    """Lay out the bundled study with an overlap and two experts per field."""

    def lay(each: int = 2, more: str = OVERLAP) -> None:
        monkeypatch.chdir(tmp_path)
        lay_out(tmp_path, oversight, more, ("amber",))
        names = [(f"{field[:3]}{n}", field) for field in FIELDS for n in range(each)]
        roster = "".join(f'[[expert]]\nname = "{name}"\nclasses = ["{field}"]\n' for name, field in names)
        Path("experts.toml").write_text(roster)

    return lay


def find_seconds() -> dict[str, str]:
    """Question of a second expert → question of the first."""
    with Store(read_study("study.toml").store_url) as store:
        return {control.id: control.original for control in store.controls.read_controls()}


def reply_wrongly(oversight: Oversight, wanted: dict[str, str]) -> None:
    """Import a wrong reply to every question of `wanted`, which maps it to the first expert's question."""
    truth = key_by_question()
    for name in oversight("label", "export")["files"]:
        rows = read_table(Path(name))
        for row in rows:
            question = row["question_id"][2:18]
            row["answer"] = OTHER[truth[wanted[question]][0]] if question in wanted else ""
        save(Path(name), rows)
        oversight("label", "import", name)


def test_second_experts_are_others_of_the_field(begin: Callable[..., None], oversight: Oversight) -> None:
    begin()
    routed = oversight("label", "route")
    overlap = routed["controls"]["overlap"]
    assert overlap["drawn"] == overlap["wanted"]
    assert abs(overlap["drawn"] - 0.3 * routed["drawn"]["questions"]) < 25
    assert routed["questions"] == routed["drawn"]["questions"] + overlap["drawn"]
    assert oversight("label", "route")["new"] == 0
    with Store(read_study("study.toml").store_url) as store:
        first = {q.id: q.expert for q in store.content.read_questions()}
        for control in store.controls.read_controls():
            assert control.expert != first[control.original]
            assert control.expert[:3] == first[control.original][:3]
    assert oversight("store", "verify")["findings"] == []


def test_equal_replies_change_no_value_and_allow_for_rare_errors(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(more="")
    oversight("label", "route")
    oversight("label", "simulate", "--key", KEY)
    alone = oversight("estimate")
    for path in Path().glob("*.sqlite*"):
        path.unlink()
    begin()
    pairs = oversight("label", "route")["controls"]["overlap"]["drawn"]
    oversight("label", "simulate", "--key", KEY)
    found = oversight("estimate")
    score, before = found["models"]["amber"]["score"], alone["models"]["amber"]["score"]
    assert score["value"] == score["corrected"] == before["value"]
    assert (score["why"], before["corrected"]) == ("", None)
    assert (score["low"], score["high"]) == (score["corrected_low"], score["corrected_high"])
    assert score["high"] > before["high"]
    assert "pairs of equal replies do not exclude" in found["models"]["amber"]["no_error"]["why"]
    everybody = found["experts"][0]
    assert (everybody["agrees"]["successes"], everybody["agrees"]["of"]) == (pairs, pairs)


def test_quality_without_second_experts_names_the_settings_of_an_open_study(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(more='[experts]\ngold = "gold.csv"')
    rows = "".join(
        f'{item},{model},"{unit}",{label}\n'
        for (item, model, unit), label in read_truth().items()
        if model == "amber"
    )
    Path("gold.csv").write_text("item,model,unit,label\n" + rows)
    oversight("label", "route")
    oversight("label", "simulate", "--key", KEY)
    error = oversight("experts", "quality", code=2)["error"]
    assert "set overlap under [experts]" in error
    assert "oversight estimate shows experts' errors on units of gold" in error


def test_different_replies_cast_doubt(
    begin: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin()
    oversight("label", "route")
    seconds = find_seconds()
    wrong = dict(sorted(seconds.items())[: len(seconds) // 3])
    reply_wrongly(oversight, wrong)
    oversight("label", "simulate", "--key", KEY)
    found = oversight("estimate")["models"]["amber"]["score"]
    told = f"two experts replied differently to {len(wrong)} of {len(seconds)} questions"
    assert told in found["why"]
    assert found["corrected"] > found["value"]
    study = read_study("study.toml")
    with Store(study.store_url) as store:
        judged = read_judged(study, store)
    firsts = replace(judged, judgements=judged.judgements.take(~judged.judgements.is_control))
    assert find_states(judged) == find_states(firsts)
    assert estimate_study(study, firsts).find_estimate("score", "amber").value == found["value"]
    capsys.readouterr()
    assert main(["gate", "--at-least", "0.5", "--model", "amber"]) == 3
    assert "replied differently" in capsys.readouterr().out
    assert main(["estimate"]) == 0
    out = capsys.readouterr().out
    kept = len(seconds) - len(wrong)
    assert f"two experts gave the same reply to {kept} of {len(seconds)} questions that both answered" in out


def test_right_replies_to_gold_do_not_silence_different_replies(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin(more='[experts]\noverlap = 0.5\ngold = "gold.csv"')
    key = [(*unit, label) for unit, label in read_truth().items() if unit[1] == "amber"]
    few = [next(row for row in key if row[3] == label) for label in ("yes", "no")]
    rows = "".join(f'{item},{model},"{unit}",{label}\n' for item, model, unit, label in few)
    Path("gold.csv").write_text("item,model,unit,label\n" + rows)
    oversight("label", "route")
    seconds = find_seconds()
    reply_wrongly(oversight, dict(sorted(seconds.items())[: len(seconds) // 3]))
    oversight("label", "simulate", "--key", KEY)
    found = oversight("estimate")["models"]["amber"]
    assert "two experts replied differently" in found["score"]["why"]
    assert "two experts replied differently" in found["no_error"]["why"]


def test_reassigned_question_goes_to_another_second_expert(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin()
    text = Path("study.toml").read_text()
    Path("study.toml").write_text(text.replace("overlap = 0.3", "overlap = 0"))
    oversight("label", "route")
    oversight("experts", "replace", "fin0", "fin1")
    Path("study.toml").write_text(text)
    oversight("label", "route")
    with Store(read_study("study.toml").store_url) as store:
        held = {q.id: q.expert for q in store.content.read_questions()}
        held |= {name: handed.taker for name, handed in store.people.read_handovers().items()}
        assert all(control.expert != held[control.original] for control in store.controls.read_controls())


def test_units_of_unknown_field_get_a_second_expert_once_accepted(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin()
    forget_fields()
    first = oversight("label", "route", "--questions", "60")
    assert first["controls"] == {"overlap": {"drawn": 0, "wanted": 0}}
    oversight("label", "simulate", "--key", KEY)
    again = oversight("label", "route")
    assert again["controls"]["overlap"]["drawn"] > 0
    with Store(read_study("study.toml").store_url) as store:
        field = {row.question_id: row.field for row in store.open_answers.read_draw()}
        for control in store.controls.read_controls():
            assert control.expert[:3] == field[control.original][:3]
    assert oversight("estimate")["experts"][0]["agrees"]["value"] == 1


def test_one_expert_per_field_is_refused(
    begin: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    begin(each=1)
    assert main(["label", "route"]) == 2
    assert "no second expert is available" in capsys.readouterr().err
    Path("study.toml").write_text(Path("study.toml").read_text().replace("overlap", "repeat"))
    assert main(["label", "route"]) == 2
    assert "repeat: does not apply to open answers" in capsys.readouterr().err


@pytest.mark.parametrize("error", [0.0, 0.02, 0.1, 0.25])
def test_score_is_corrected_by_pairs_of_replies(error: float) -> None:
    experts = {"ann": "law", "zoe": "law"}
    table = rubric_table([[2, 2, -1]] * 400)
    covered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        met = rng.random(len(table)) < np.where(table.points > 0, 0.8, 0.3)
        said = [np.where(met ^ (rng.random(len(table)) < error), "yes", "no") for _ in range(2)]
        drawn = draw_questions(table, 10**6, "equal", seed, experts=experts)
        judged = join_replies(table, drawn, said[0][drawn.row].astype(object))
        again = judged.take(np.flatnonzero(rng.random(len(judged)) < 0.3))
        other = {"ann": "zoe", "zoe": "ann"}
        row = {key: at for at, key in enumerate(table.question.tolist())}
        second = replace(
            again,
            propensity=np.full(len(again), np.nan),
            expert=np.array([other[name] for name in again.expert], dtype=object),
            reply=np.array([said[1][row[question]] for question in again.question], dtype=object),
        )
        both = judged.append(second)
        found = estimate_open(both, experts=experts, by_field=False).find_estimate("score", "m")
        truth = (np.array([2, 2, -1] * 400) * met).reshape(400, 3).sum(axis=1).mean() / 4
        low = found.low if found.corrected_low is None else found.corrected_low
        high = found.high if found.corrected_high is None else found.corrected_high
        assert low is not None
        assert high is not None
        covered += low <= truth <= high
        assert found.holds or error > 0
    assert covered >= 37
