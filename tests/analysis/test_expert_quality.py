"""Experts' error rates from control questions, and their use in estimates, comparisons and gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.analysis import Bars, compare_study, gate_study, import_predictions, report_study
from oversight.harness.analysis.controls import ControlAnswers
from oversight.harness.analysis.diagnosis import _study
from oversight.harness.config import Study, read_study
from oversight.harness.estimate import compare_rates
from oversight.harness.store import ControlKind, ControlQuestion, Response, Store
from oversight.protocols.collect.label_studio.watch import estimate_running
from oversight.protocols.study_labels import route_questions, simulate_answers

CLASSES = ("red", "green", "blue", "black")
N = 400
TRUTH = np.random.default_rng(3).integers(4, size=N)


def control(
    number: int, kind: ControlKind, expert: str, option: int = 0, original: str = ""
) -> ControlQuestion:
    return ControlQuestion(f"c{number}", kind, f"g{number}", option, expert, 4, 1, original)


def said(controls: Sequence[ControlQuestion], values: str) -> dict[str, Response]:
    words = {"y": "yes", "n": "no", "u": "unsure"}
    rows = zip(controls, values, strict=True)
    return {c.id: Response(c.id, c.expert, words[v], "t") for c, v in rows if v != " "}


def test_rates_are_counted_by_expert_in_the_order_of_arrival() -> None:
    gold = [control(j, ControlKind.GOLD, "ana", j % 2) for j in range(8)]
    repeats = [control(10 + j, ControlKind.REPEAT, "ana", original=f"q{j}") for j in range(4)]
    overlaps = [control(20 + j, ControlKind.OVERLAP, "bea", original=f"q{j}") for j in range(4)]
    controls = [*gold, *repeats, *overlaps]
    answers = ControlAnswers(
        controls=controls,
        replies=said(controls, "ynynuynyyn ynnyu"),
        originals={
            f"q{j}": Response(f"q{j}", "ana", v, "t") for j, v in enumerate(("yes", "no", "no", "no"))
        },
        truth={c.item_id: 0 for c in gold},
    )
    ana, bea, every = answers.report()
    assert (ana.name, ana.asked, ana.answered) == ("ana", 12, 10)
    assert ana.sensitivity is not None
    assert ana.specificity is not None
    assert (ana.sensitivity.successes, ana.sensitivity.of) == (2, 3)
    assert (ana.specificity.successes, ana.specificity.of) == (2, 4)
    assert ana.drift is not None
    assert (ana.drift.first.value, ana.drift.last.value) == (1.0, 0.25)
    assert ana.drift.low < ana.drift.value == -0.75 < ana.drift.high
    assert ana.steadiness is not None
    assert (ana.steadiness.successes, ana.steadiness.of) == (2, 3)
    for one in (ana, bea, every):
        assert one.agreement is not None
        assert (one.agreement.successes, one.agreement.of) == (1, 3)
    assert (bea.sensitivity, bea.drift, bea.steadiness) == (None, None, None)
    assert (every.name, every.asked) == ("all experts", 16)
    assert answers.count_gold() == ((2, 1), (2, 2))


def test_a_change_without_errors_is_not_certain() -> None:
    change = compare_rates([True] * 5, [True] * 5)
    assert change.value == 0
    assert change.low < -0.4
    assert change.high > 0.4


def lay_out(folder: Path, extra: str, rates: tuple[float, float] = (0.85, 0.9), experts: int = 2) -> Study:
    """A study whose experts answered with these rates, and models that are right on 80 and 60 of 100."""
    rng = np.random.default_rng(5)
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},note {j}.\n" for j in range(N)))
    key = "".join(f"i{j},{CLASSES[t]}\n" for j, t in enumerate(TRUTH))
    (folder / "key.csv").write_text("id,label\n" + key)
    gold = "".join(f"gold {j}.,{CLASSES[j % 4]}\n" for j in range(200))
    (folder / "gold.csv").write_text("text,answer\n" + gold)
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}{e}"\nclasses = ["{c}"]\n' for c in CLASSES for e in range(experts))
    )
    (folder / "study.toml").write_text(
        f'[study]\nname = "s"\nseed = 2\n[items]\nfile = "items.csv"\nclasses = {list(CLASSES)}\n'
        f"[experts]\n{extra}"
    )
    study = read_study(folder / "study.toml")
    route_questions(study)
    sensitivity, specificity = rates
    simulate_answers(study, str(folder / "key.csv"), sensitivity=sensitivity, specificity=specificity)
    for name, accuracy in (("good", 0.8), ("fair", 0.6)):
        option = np.where(rng.random(N) < accuracy, TRUTH, (TRUTH + rng.integers(1, 4, size=N)) % 4)
        file = folder / f"{name}.csv"
        file.write_text("id,prediction\n" + "".join(f"i{j},{CLASSES[o]}\n" for j, o in enumerate(option)))
        import_predictions(study, str(file), name)
    return study


def estimates_of(study: Study, model: str = "good") -> Any:
    with Store(study.store_url) as store:
        return next(m for m in report_study(store, study).models if m.name == model)


def test_gold_corrects_by_default_and_comes_first(tmp_path: Path) -> None:
    study = lay_out(tmp_path, 'gold = "gold.csv"\ngold_share = 0.4\n')
    model = estimates_of(study)
    assert next(iter(model.estimates)) == "corrected"
    corrected, ml = model.estimates["corrected"], model.estimates["ml"]
    assert corrected.low < 0.8 < corrected.high
    assert ml.high < 0.8
    assert (corrected.holds, ml.holds) == (True, False)
    assert "experts err" in ml.why
    with Store(study.store_url) as store:
        quality = report_study(store, study).quality
    assert [q.name for q in quality][-1] == "all experts"


def test_second_experts_correct_where_there_is_no_gold(tmp_path: Path) -> None:
    model = estimates_of(lay_out(tmp_path, "overlap = 0.5\n"))
    assert next(iter(model.estimates)) == "hui_walter"
    assert model.estimates["hui_walter"].low < 0.8 < model.estimates["hui_walter"].high
    assert not model.estimates["ml"].holds


def test_known_ranges_bound_what_nothing_else_tells(tmp_path: Path) -> None:
    study = lay_out(tmp_path, "sensitivity = [0.8, 1.0]\nspecificity = [0.85, 1.0]\n")
    model = estimates_of(study)
    assert next(iter(model.estimates)) == "bounded"
    assert model.estimates["bounded"].low < 0.8 < model.estimates["bounded"].high
    assert model.estimates["ml"].holds  # no expert error was observed


def test_repeats_alone_correct_nothing_but_say_what_they_saw(tmp_path: Path) -> None:
    model = estimates_of(lay_out(tmp_path, "repeat = 0.3\n"))
    assert not {"corrected", "hui_walter", "bounded"} & model.estimates.keys()
    assert "repeated questions got another answer" in model.estimates["ml"].why


def test_experts_who_do_not_err_leave_everything_as_it_was(tmp_path: Path) -> None:
    model = estimates_of(lay_out(tmp_path, 'gold = "gold.csv"\nrepeat = 0.2\noverlap = 0.2\n', (1.0, 1.0)))
    assert all(e.holds for e in model.estimates.values())


def test_several_options_an_item_have_no_likelihood_and_say_so(tmp_path: Path) -> None:
    model = estimates_of(lay_out(tmp_path, "overlap = 0.4\noptions_per_item = 2\n", (0.85, 1.0)))
    assert "hui_walter" not in model.estimates
    assert "add gold items" in model.undefined["hui_walter"]


def test_gold_corrects_comparisons_and_gates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    study = lay_out(tmp_path, 'gold = "gold.csv"\ngold_share = 0.4\n')
    for bar, verdict in ((0.3, "pass"), (0.75, "undecided")):
        (check,) = gate_study(study, Bars(at_least=bar), names=["good"]).checks
        assert check.verdict.verdict == verdict
        assert any("verdicts allow for experts' errors, by gold (" in note for note in check.remarks)
    look = gate_study(study, Bars(at_least=0.3, look=(1, 1)), names=["good"]).checks[0].verdict
    assert look.verdict == "pass"
    assert look.low < 0.8 < look.high
    monkeypatch.chdir(tmp_path)
    told = oversight("compare", "--json")
    (pair,) = told["comparisons"]
    assert (pair["holds"], pair["method"]) == (True, "paired+gold")
    assert "corrected for experts' errors, by gold (" in told["remark"]
    (sign,) = oversight("compare", "--test", "sign", "--json")["comparisons"]
    assert not sign["holds"]
    assert "--test sign cannot correct" in sign["why"]


def test_ranges_bound_comparisons_and_gates(tmp_path: Path) -> None:
    study = lay_out(tmp_path, "sensitivity = [0.8, 1.0]\nspecificity = [0.85, 1.0]\n")
    (pair,) = compare_study(study).found.pairs
    assert (pair.method, pair.holds) == ("paired+ranges", True)
    (check,) = gate_study(study, Bars(at_least=0.4), names=["good"]).checks
    assert check.verdict.verdict == "pass"
    assert any("by their ranges (sensitivity 0.8–1" in note for note in check.remarks)


def test_an_expert_with_few_answers_is_undecided(tmp_path: Path) -> None:
    study = lay_out(tmp_path, "repeat = 0.3\n")
    (check,) = gate_study(study, Bars(at_least=0.3), names=["good"]).checks
    assert check.verdict.verdict == "undecided"
    assert "without gold items or ranges of error rates" in check.verdict.why
    (pair,) = compare_study(study).found.pairs
    assert not pair.holds
    assert "without gold items or ranges of error rates" in pair.why


def test_every_verb_that_shows_experts_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    lay_out(tmp_path, 'gold = "gold.csv"\nrepeat = 0.1\noverlap = 0.1\n')
    monkeypatch.chdir(tmp_path)
    shown = oversight("experts", "quality", "--json")["quality"]
    assert len(shown) == 9
    assert oversight("label", "status", "--json")["quality"] == shown
    assert oversight("estimate", "--json")["quality"] == shown
    assert shown[-1]["sensitivity"]["of"] == 20
    assert shown[-1]["words"]["sensitivity"].endswith(" %]")
    oversight("report", "report.html")
    assert "yes to the true option" in Path("report.html").read_text(encoding="utf-8")


def test_a_running_estimate_says_it_too_and_the_doctor_reads_the_gold(tmp_path: Path) -> None:
    study = lay_out(tmp_path, 'gold = "gold.csv"\ngold_share = 0.4\n')
    with Store(study.store_url) as store:
        estimates, _ = estimate_running(study, store)
    assert "experts err" in estimates["good"].why
    found = {f.what: f.detail for f in _study(str(tmp_path / "study.toml"))}
    assert found["gold"] == "200 gold items"
