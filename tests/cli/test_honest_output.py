"""The commands' output states the valid results, the missing data and the checks that did not run."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from oversight.harness import BadInput
from oversight.harness.analysis.opened_study import check_look
from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.store import PlannedLook, Store
from tests.cli.conftest import CLASSES, TRUTH, N, Oversight

GOLD = '{"yes_on_true": 98, "n_true": 100, "no_on_false": 297, "n_false": 300}'


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main([*words]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_run_that_was_stopped_is_never_shown_as_finished(
    begin: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin("partitioned", {"whole": (0.8, N), "stopped": (0.8, 44)})
    found = oversight("estimate")
    assert found["questions"] == {"drawn": N, "answered": N}
    items = found["models"]["stopped"]["items"]
    assert (items["of"], items["predicted"], items["unpredicted"], items["labelled"]) == (N, 44, N - 44, 44)
    ml = found["models"]["stopped"]["estimates"]["ml"]
    assert ml["holds"] is False
    assert "44 of 200 items" in ml["why"]
    whole = found["models"]["whole"]["estimates"]["ml"]
    assert (whole["holds"], whole["why"]) == (True, "")
    text = printed(capsys, "estimate")
    assert "RUN NOT FINISHED, items answered: stopped 44 of 200." in text
    assert "200 of 200 questions answered" in text
    assert "(!)" in text
    assert text.index("may not hold: the model answered 44 of 200 items") < text.index("model accuracy")
    text = printed(capsys, "estimate", "--all")
    assert "44 of 200 items answered by the model (RUN NOT FINISHED: 156 not asked yet)" in text
    assert "may not hold:" in text
    page = Path(oversight("report")["report"]).read_text()
    assert "RUN NOT FINISHED: 156 not asked yet" in page
    assert "may not hold: the model answered 44 of 200 items" in page
    compared = oversight("compare")
    assert compared["items"] == {"of": N, "predicted": 44}
    assert compared["comparisons"][0]["holds"] is False
    text = printed(capsys, "compare")
    assert "may not hold" in text
    assert "Is stopped better than whole? " in text or "Is whole better than stopped? " in text


def test_a_collection_under_way_says_what_it_uses(
    begin: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin("partitioned", {"model": (0.8, N)}, answered=0.5)
    found = oversight("estimate")
    answered = found["questions"]["answered"]
    assert answered < N
    model = found["models"]["model"]
    assert model["items"]["unlabelled"] == N - answered
    assert any(
        note.startswith("the collection is not finished") for note in model["estimates"]["ml"]["notes"]
    )
    text = printed(capsys, "estimate")
    assert f"{answered} of {N} questions answered" in text
    assert "The collection is not finished" in text


def test_one_run_without_usable_answers_does_not_block_the_others(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin("partitioned", {"whole": (0.8, N)}, answered=0.5)
    open_item = next(
        row["text"].strip("item .")
        for path in sorted(Path("filled").glob("*.csv"))
        for row in csv.DictReader(path.read_text().splitlines())
        if not row["answer"]
    )
    Path("none.csv").write_text(f"id,prediction\ni{open_item},red\n")
    oversight("predictions", "import", "none.csv", "--model", "none")
    found = oversight("estimate")["models"]
    assert found["whole"]["estimates"]["ml"]
    assert found["none"]["estimates"] == {}
    assert found["none"]["undefined"]["ml"]
    assert oversight("report")["models"] == ["whole", "none"]


def _name_option(option: str, value: str = "") -> str:
    """Name of an option, or of a setting given with ``--set``, in error messages."""
    return (
        value.partition("=")[0].removeprefix("estimate.") if option == "--set" else option.removeprefix("--")
    )


@pytest.mark.parametrize(
    ("protocol", "models", "options", "named"),
    [
        (protocol, models, options, _name_option(*options))
        for protocol, models, refused in (
            (
                "sequential",
                1,
                (
                    ("--gold", GOLD),
                    ("--anytime",),
                    ("--set", "estimate.interval=score"),
                    ("--estimators", "paper"),
                    ("--set", "estimate.strata=ward"),
                ),
            ),
            (
                "targeted",
                2,
                (
                    ("--anytime",),
                    ("--set", "estimate.interval=score"),
                    ("--estimators", "paper"),
                    ("--set", "estimate.strata=ward"),
                ),
            ),
            (
                "disagreement",
                2,
                (
                    ("--gold", GOLD),
                    ("--anytime",),
                    ("--set", "estimate.interval=score"),
                    ("--estimators", "paper"),
                    ("--set", "estimate.strata=ward"),
                    ("--look", "1/1"),
                    ("--joint",),
                ),
            ),
        )
        for options in refused
    ],
)
def test_an_option_without_effect_is_refused_by_name(
    begin: Callable[..., None],
    oversight: Oversight,
    protocol: str,
    models: int,
    options: tuple[str, ...],
    named: str,
) -> None:
    begin(protocol, {f"m{'x' * j}": (0.8 - 0.2 * j, N) for j in range(models)})
    assert named in oversight("estimate", *options, code=2)["error"]


def test_options_that_apply_add_their_estimate(begin: Callable[..., None], oversight: Oversight) -> None:
    begin("targeted", {"m": (0.8, N)})
    assert "anytime" in oversight("estimate", "--anytime")["models"]["m"]["estimates"]
    assert "corrected" in oversight("estimate", "--gold", GOLD)["models"]["m"]["estimates"]
    assert "--gold" in oversight("estimate", "--counts", "{}", "--gold", GOLD, code=2)["error"]


def test_planned_looks_are_recorded(begin: Callable[..., None], oversight: Oversight) -> None:
    begin("partitioned", {"m": (0.8, N)}, answered=0.5)
    share = oversight("estimate", "--look", "1/5", code=2)["error"]
    assert "drawn questions" in share
    assert "planned at 20%" in share
    first = oversight("estimate", "--look", "1/2")
    assert oversight("estimate", "--look", "1/2") == first
    assert "the number of looks cannot change" in oversight("estimate", "--look", "2/4", code=2)["error"]
    Path("key.csv").write_text("id,label\n" + "".join(f"i{j},{CLASSES[t]}\n" for j, t in enumerate(TRUTH)))
    oversight("label", "simulate", "--key", "key.csv")
    again = oversight("estimate", "--look", "1/2", code=2)["error"]
    assert "planned at 50%" in again
    oversight("estimate", "--look", "2/2")
    with Store(f"sqlite:///{Path('study.db').absolute()}") as store:
        assert [(look.look, look.looks) for look in store.content.read_looks()] == [(1, 2), (2, 2)]
        noted = [e.detail for e in store.audit.read_records() if e.kind == "look"]
        assert [(e["look"], e["looks"], e["drawn"]) for e in noted] == [(1, 2, N), (2, 2, N)]
        study = read_study("study.toml")
        late = PlannedLook(look=1, looks=2, answered=N // 2, drawn=N)
        with pytest.raises(BadInput, match="earlier looks can no longer be taken"):
            check_look(study, store, late)
        more = PlannedLook(look=2, looks=2, answered=N - 1, drawn=N)
        with pytest.raises(BadInput, match="it was the last"):
            check_look(study, store, more)
        grown = PlannedLook(look=2, looks=2, answered=4 * N, drawn=4 * N)
        with pytest.raises(BadInput, match="questions were added after look 1"):
            check_look(study, store, grown)


def test_joint_intervals_are_wider_and_say_so(begin: Callable[..., None], oversight: Oversight) -> None:
    begin("partitioned", {"m": (0.8, N), "mm": (0.6, N), "mmm": (0.5, N)})
    alone, joint = (oversight("estimate", *options)["models"] for options in ((), ("--joint",)))
    for name, model in alone.items():
        one, other = model["estimates"]["ml"], joint[name]["estimates"]["ml"]
        assert other["low"] < one["low"] < one["high"] < other["high"]
        assert other["level"] == one["level"] == 0.95
        assert "joint: 3 models" in other["flags"]
        assert any("hold simultaneously" in note for note in other["notes"])


def test_checks_are_counted_apart(
    begin: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin("partitioned", {"m": (0.8, N)})
    checks = oversight("estimate")["models"]["m"]["checks"]
    states = [check["state"] for check in checks]
    assert {check["passed"] for check in checks if check["state"] == "not made"} == {None}
    counted = ", ".join(f"{states.count(s)} {s}" for s in ("passed", "failed", "not made"))
    kinds = ", ".join(f"{states.count(s)} {s}" for s in ("passed", "failed") if s in states)
    missing = states.count("not made")
    assert f"Assumption checks: {kinds}, {missing} could not be made." in printed(capsys, "estimate")
    text = printed(capsys, "estimate", "--all")
    assert "not made" in states
    assert f"checks of the assumptions: {counted}" in text
    assert "checks of the assumptions passed" not in text
    assert f"checks of the assumptions: {counted}" in Path(oversight("report")["report"]).read_text()


def test_a_ranking_says_why_its_accuracies_differ(
    begin: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin("partitioned", {"m": (0.8, N), "mm": (0.6, N), "mmm": (0.5, N // 2)})
    assert "oversight estimate gives other accuracies" in oversight("compare")["remark"]
    text = printed(capsys, "compare")
    assert "oversight estimate gives other accuracies" in text
    assert "Which model is best? Not decided: m, mm and mmm share the first rank." in text


def test_without_a_ranking_every_pair_is_printed(
    begin: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    begin("partitioned", {"m": (0.8, N), "mm": (0.8, N), "mmm": (0.2, N)})
    found = oversight("compare", "--test", "sign")
    assert "ranking" not in found
    text = printed(capsys, "compare", "--test", "sign")
    for row in found["comparisons"]:
        assert row["adjusted"] == "bonferroni"
        low, high = (f"{100 * row[end]:+.1f}" for end in ("low", "high"))
        answer = {row["first"]: "Yes.", "tie": "Not decided."}[row["verdict"]]
        told = f"{row['first']} − {row['second']} {100 * row['difference']:+.1f} {low} to {high} "
        assert f"{told}{row['p_value']:.3g} {answer}" in text
    assert "Intervals and p-values hold jointly (joint confidence level 95%)." in text


def test_a_ranking_says_that_its_accuracies_agree(begin: Callable[..., None], oversight: Oversight) -> None:
    begin("targeted", {"m": (0.8, N), "mm": (0.6, N), "mmm": (0.5, N)})
    found = oversight("compare")
    own = oversight("estimate")["models"]
    for row in found["ranking"]:
        assert row["accuracy"] == pytest.approx(own[row["model"]]["estimates"]["routed"]["estimate"])
    assert "agree" in found["remark"]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (
            '{"K": 10, "S_o": 0, "n_o": 0, "S_c": 20, "n_c": 30}',
            ["0.0 %*", "outside", "-200.0 % as computed"],
        ),
        ('{"K": 4, "S_o": 0, "n_o": 0, "S_c": 300, "n_c": 360}', ["no estimate:"]),
    ],
)
def test_counts_say_what_the_table_says(
    counts: str, words: list[str], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    found = oversight("estimate", "--counts", counts)
    undefined = found.pop("undefined")
    assert all(estimate["holds"] in (True, False) for estimate in found.values())
    text = printed(capsys, "estimate", "--counts", counts)
    for word in words:
        assert word in text
    for why in undefined.values():
        assert " ".join(why.split()) in text
    for estimate in found.values():
        assert 0 <= estimate["low"] <= estimate["high"] <= 1
        for note in estimate["notes"]:
            assert note in text
