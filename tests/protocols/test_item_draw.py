"""Items drawn from a larger pool: once, the same again, added to, told by every verb; or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oversight.harness import BadInput, ConfigError
from oversight.harness.analysis import compare_study, import_predictions, report_study
from oversight.harness.cli.main import main
from oversight.harness.config import Study, read_study
from oversight.harness.store import Store
from oversight.harness.types import Question
from oversight.protocols import study_labels
from oversight.protocols.collect.collection_page import read_collection
from oversight.protocols.study_labels import export_open, route_questions, simulate_answers

NUMBER = 120


def lay_out(folder: Path, protocol: str = "partitioned", models: int = 3, extra: str = "") -> Study:
    classes = ("red", "green", "blue")
    (folder / "study.toml").write_text(
        f'[study]\nname = "s"\n[items]\nfile = "items.csv"\nclasses = {json.dumps(classes)}\n'
        f'[experts]\nprotocol = "{protocol}"\n{extra}'
    )
    roster = "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in classes)
    (folder / "experts.toml").write_text(roster)
    names = [f"i{j}" for j in range(NUMBER)]
    write_items(folder, NUMBER)
    truth = {name: classes[j % 3] for j, name in enumerate(names)}
    (folder / "key.csv").write_text("id,label\n" + "".join(f"{k},{v}\n" for k, v in truth.items()))
    study = read_study(folder / "study.toml")
    for model in range(models):
        rows = [
            f"{name},{classes[(j + (j % (7 + model) < j // 30)) % 3] if j % 29 != model else ''}\n"
            for j, name in enumerate(names)
        ]
        (folder / f"m{model}.csv").write_text("id,prediction\n" + "".join(rows))
        import_predictions(study, str(folder / f"m{model}.csv"), model=f"m{model}")
    return study


def write_items(folder: Path, number: int) -> None:
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(number)))


def answer_all(folder: Path, study: Study) -> None:
    while simulate_answers(study, str(folder / "key.csv")):
        route_questions(study)


def drawn_items(study: Study) -> set[str]:
    with Store(study.store_url) as store:
        return store.pool.read_drawn() or set()


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "sequential"])
def test_some_items_of_a_pool_are_asked_about_and_every_verb_says_so(tmp_path: Path, protocol: str) -> None:
    study = lay_out(tmp_path, protocol)
    first = route_questions(study, questions=40)
    assert first.items == NUMBER
    (draw,) = first.draws
    assert (draw.remaining, draw.pool, draw.strata) == (NUMBER, NUMBER, "by the agreement of 3 models")
    assert draw.items == 40 if protocol != "sequential" else 15 < draw.items < 40
    assert {q.item_id for q in questions(study)} <= drawn_items(study)
    assert route_questions(study).new == route_questions(study, questions=40).new == 0
    answer_all(tmp_path, study)
    with Store(study.store_url) as store:
        report = report_study(store, study)
        assert report.pool == (draw.items, NUMBER)
        assert all(model.estimates for model in report.models)
        assert all(model.items.unlabelled == 0 and model.items.predicted == NUMBER for model in report.models)
        assert all(model.items.unasked < 5 for model in report.models)
        found = read_collection(study, store)["items_drawn"]
        assert found == {"drawn": draw.items, "of": NUMBER, "text": f"{draw.items} of 120 items drawn"}
    assert compare_study(study).pool == (draw.items, NUMBER)
    assert export_open(study, tmp_path / "out") == ([], 0)


def test_unreadable_predictions_take_no_questions_from_the_number_given(tmp_path: Path) -> None:
    study = lay_out(tmp_path, "targeted", models=0)
    rows = "".join(f"i{j},{'red' if j % 2 else ''}\n" for j in range(NUMBER))
    (tmp_path / "half.csv").write_text(f"id,prediction\n{rows}")
    import_predictions(study, str(tmp_path / "half.csv"), model="half")
    made = route_questions(study, questions=30)
    assert made.draws[0].items == 60
    # the draw is proportional, so half of the drawn items have a readable prediction
    assert abs(made.new - 30) <= 1


def questions(study: Study) -> list[Question]:
    with Store(study.store_url) as store:
        return store.content.read_questions()


@pytest.mark.parametrize(
    "verb", [["estimate"], ["compare"], ["label", "status"], ["gate", "--at-least", "0.1"]]
)
def test_verbs_say_how_many_items_were_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    study = lay_out(tmp_path, models=2)
    route_questions(study, questions=60)
    answer_all(tmp_path, study)
    more = ["--model", "m0"] if verb[0] == "gate" else []
    main([*verb, "--study", str(tmp_path / "study.toml"), *more])
    assert "60 of 120 items drawn" in " ".join(capsys.readouterr().out.split())


def test_the_draw_is_that_of_the_seed(tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        study = lay_out(tmp_path / name, extra="questions = 30\n")
        route_questions(study)
        found.append(drawn_items(study))
    assert found[0] == found[1]
    assert len(found[0]) == 30


def test_more_items_are_drawn_of_the_rest(tmp_path: Path) -> None:
    study = lay_out(tmp_path, "targeted")
    route_questions(study, questions=30)
    before, asked = drawn_items(study), questions(study)
    routed = route_questions(study, more=50)
    assert [(d.items, d.remaining) for d in routed.draws] == [(30, 120), (50, 90)]
    assert before < drawn_items(study)
    assert len(drawn_items(study)) == 80
    assert all(question in questions(study) for question in asked)
    assert route_questions(study, more=500).draws[-1].items == 40
    with pytest.raises(BadInput, match="all 120 items were drawn"):
        route_questions(study, more=1)


def test_without_models_items_are_drawn_at_random(tmp_path: Path) -> None:
    study = lay_out(tmp_path, models=0)
    (draw,) = route_questions(study, questions=1).draws
    assert (draw.items, draw.strata) == (1, "at random, as no model was run")


def test_several_options_per_item_reduce_the_drawn_items(tmp_path: Path) -> None:
    study = lay_out(tmp_path, models=1, extra="options_per_item = 2\n")
    routed = route_questions(study, questions=41)
    assert (routed.draws[0].items, routed.asked.total()) == (20, 40)


def test_unsupported_draws_are_refused(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    for option in ("questions", "more"):
        with pytest.raises(BadInput, match=f"--{option} must be at least 1, is 0"):
            route_questions(study, **{option: 0})  # type: ignore[arg-type]  # a number of questions
    with pytest.raises(BadInput, match="start one with --questions"):
        route_questions(study, more=5)
    route_questions(study, questions=30)
    with pytest.raises(ConfigError, match=r"first draw was for 30 questions \(30 of 120 items\), not for 31"):
        route_questions(study, questions=31)
    write_items(tmp_path, NUMBER + 1)
    with pytest.raises(ConfigError, match="the item 'i120' is not among the 120"):
        route_questions(study)


def test_study_about_every_item_cannot_switch_to_a_pool(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    assert route_questions(study).draws == []
    with pytest.raises(ConfigError, match="questions about all items were already drawn"):
        route_questions(study, questions=30)
    assert drawn_items(study) == set()


def test_disagreement_draws_enough_items_for_the_requested_questions(tmp_path: Path) -> None:
    study = lay_out(tmp_path, "disagreement", models=2)
    first = route_questions(study, questions=10)
    (draw,) = first.draws
    assert 8 <= first.asked.total() <= 12 < draw.items < NUMBER
    assert route_questions(study, more=4).asked.total() > first.asked.total()
    answer_all(tmp_path, study)
    (pair,) = compare_study(study).found.pairs
    assert pair.items == len(drawn_items(study))
    assert -1 < pair.low <= pair.difference <= pair.high < 1


def test_panel_draws_no_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(tmp_path, "panel", models=0)
    assert main(["label", "route", "--questions", "5", "--study", str(tmp_path / "study.toml")]) == 2
    assert "this study is a panel" in capsys.readouterr().err


def test_interrupted_draw_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = lay_out(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(study_labels, "note_source", fail)
        with pytest.raises(KeyboardInterrupt):
            route_questions(study, questions=30)
    assert drawn_items(study) == set()
    assert route_questions(study, questions=40).draws[0].items == 40


def test_a_model_run_later_is_estimated_on_the_drawn_items(tmp_path: Path) -> None:
    study = lay_out(tmp_path, models=2)
    route_questions(study, questions=60)
    answer_all(tmp_path, study)
    (tmp_path / "late.csv").write_text("id,prediction\n" + "".join(f"i{j},red\n" for j in range(NUMBER)))
    import_predictions(study, str(tmp_path / "late.csv"), model="late")
    assert route_questions(study).new == 0
    with Store(study.store_url) as store:
        late = next(m for m in report_study(store, study).models if m.name == "late")
    assert late.estimates["ml"].n.unasked == 0
    assert late.items.labelled == 60
