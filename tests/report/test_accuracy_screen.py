"""`oversight estimate` prints one accuracy per model, after what speaks against reporting it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from oversight.harness.analysis import EstimateOptions, ItemCounts, ModelReport, StudyReport
from oversight.harness.analysis.study_report import ExpertReport
from oversight.harness.estimate import Check
from oversight.harness.output import show
from oversight.harness.report import FORMATS, first_screen, format_accuracies, paper_report
from oversight.harness.types import Counts, Estimate, Note, NoteKind

POINTER = "All estimators, checks and assumptions:  oversight estimate --all"
ML = Estimate(
    value=0.688,
    low=0.561,
    high=0.784,
    se=None,
    level=0.95,
    estimator="ml",
    method="exact",
    n=Counts(ordinary=41, complementary=138, abstained=1),
)
PASSED = Check(name="coin", passed=True, statistic=0.0, p_value=None, message="as expected")


def model(
    name: str, estimates: Sequence[Estimate] = (ML,), checks: Sequence[Check] = (PASSED,)
) -> ModelReport:
    return ModelReport(
        name=name,
        run_id=name,
        spec={},
        created="",
        predictions=180,
        items=ItemCounts(
            of=180,
            predicted=180,
            unreadable=0,
            failed=0,
            unpredicted=0,
            labelled=179,
            abstained=1,
            unlabelled=0,
            unasked=0,
        ),
        estimates={e.estimator: e for e in estimates},
        undefined={},
        unusable="",
        checks=tuple(checks),
        unreadable={},
        failed={},
        refuted=0,
        input_tokens=0,
        output_tokens=0,
    )


def study(*models: ModelReport) -> StudyReport:
    return StudyReport(
        name="Case notes",
        seed=0,
        protocol="partitioned",
        n_items=180,
        n_questions=180,
        n_answers=180,
        options={4: 180},
        models=models,
        experts=(expert("A", 90), expert("B", 90)),
        assumptions=(),
        versions={},
        created="",
    )


def expert(name: str, no: int, asked: int = 90) -> ExpertReport:
    return ExpertReport(name=name, asked=asked, yes=0, no=no, abstained=0, expected_yes_rate=0.25)


def printed(report: StudyReport, options: EstimateOptions | None = None, width: int = 80) -> list[str]:
    console = Console(width=width, markup=False)
    with console.capture() as captured:
        for part in first_screen(report, options or EstimateOptions()):
            console.print(part)
    return [line.rstrip() for line in captured.get().rstrip().splitlines()]


def test_screen_of_two_models_is_one_table_and_few_lines() -> None:
    assert printed(study(model("small"), model("large"))) == [
        "Case notes: 180 items, 2 experts, 180 of 180 questions answered",
        "",
        "  model   accuracy   95 % interval",
        "  small     68.8 %   56.1 – 78.4",
        "  large     68.8 %   56.1 – 78.4",
        "",
        "From 41 yes and 138 no answers; left out: 1 unsure.",
        "Assumption checks: the only one passed for both models.",
        "",
        "Which model is better?  oversight compare",
        POINTER,
    ]


def test_long_names_are_folded_and_numbers_are_not() -> None:
    names = [f"{'vendor-and-model-' * 3}{'x' * 7}{j:02}" for j in range(20)]
    lines = printed(study(*map(model, names)))
    assert max(map(len, lines)) <= 80
    assert sum("68.8 %   56.1 – 78.4" in line for line in lines) == 20
    assert all(any(line.endswith(name[-2:]) for line in lines) for name in names)


def test_table_without_frame_keeps_its_titles(capsys: pytest.CaptureFixture[str]) -> None:
    show(first_screen(study(model("a" * 60)), EstimateOptions())[1])
    assert "95 % interval" in capsys.readouterr().out


def test_failed_check_and_doubtful_interval_come_before_the_table() -> None:
    failed = replace(PASSED, passed=False, message="asked about 13 of 90 times")
    doubted = replace(ML, why="4 of 53 questions without a yes or no")
    other = replace(ML, why="9 of 53 questions without a yes or no")
    lines = printed(study(model("a", [doubted], [failed]), model("b", [other]), model("c")), width=120)
    assert lines[2:6] == [
        "! 1 check FAILED (coin) for a: asked about 13 of 90 times",
        "! Intervals marked (!) may not hold: 4 of 53 questions without a yes or no (numbers of a)",
        "  Read this before you report a number:  oversight estimate --all",
        "",
    ]
    assert lines[7:10] == [
        "  a         68.8 %   56.1 – 78.4 (!)",
        "  b         68.8 %   56.1 – 78.4 (!)",
        "  c         68.8 %   56.1 – 78.4",
    ]
    assert "Assumption checks: 0 passed for all 3 models, 1 failed." in lines


def test_silent_experts_are_named_instead_of_the_table() -> None:
    none = replace(model("a", []), undefined={"ml": "A has not answered yet: no random part"})
    report = replace(study(none), experts=(expert("A", 0, 26), expert("B", 0, 48), expert("C", 9)))
    lines = printed(report)
    assert lines[2] == "No accuracy yet: A (26 open) and B (48 open) have not answered."
    assert not any("interval" in line for line in lines)
    assert lines[-1] == POINTER


def test_reason_for_a_missing_accuracy_is_printed() -> None:
    none = replace(model("b", []), undefined={"ml": "the run has 3 answers"})
    lines = printed(study(model("a"), none))
    assert "  b              –" in lines
    assert "No accuracy for b: the run has 3 answers" in lines


def test_interval_valid_at_any_time_is_a_row_below_its_model() -> None:
    made = model("a")
    made = replace(made, estimates={**made.estimates, "anytime": replace(ML, low=0.4, high=0.9)})
    lines = printed(study(made), EstimateOptions(anytime=True))
    assert lines[3:5] == [
        "  a                 68.8 %   56.1 – 78.4",
        "    at any time     68.8 %   40.0 – 90.0",
    ]


def test_interim_analysis_explains_its_wider_interval() -> None:
    lines = printed(study(model("a", [replace(ML, level=0.9759)])), EstimateOptions(look=1, looks=2), 120)
    assert lines[2] == "  model   accuracy   interval"
    assert any(line.startswith("Look 1 of 2: intervals are widened to ") for line in lines)


def test_number_corrected_for_experts_errors_is_named() -> None:
    corrected = replace(ML, estimator="corrected", value=0.7)
    lines = printed(study(model("a", [ML, corrected])))
    assert lines[3].startswith("  a         70.0 %")
    assert "Experts' errors are corrected by answers to gold questions." in lines


def test_reason_of_the_protocols_own_estimate_is_told() -> None:
    none = replace(model("b", []), undefined={"ord": "no yes", "ml": "no answers", "assisted": "strata"})
    assert "No accuracy yet: no answers" in printed(study(none))


def test_correction_that_could_not_be_made_is_told() -> None:
    corrected = model("a", [ML, replace(ML, estimator="hui_walter")])
    plain = replace(model("b"), undefined={"hui_walter": "too few second answers"})
    lines = printed(study(corrected, plain))
    assert "Experts' errors are corrected by second experts' answers." in lines
    assert "Experts' errors are not corrected for b: too few second answers" in lines


def test_share_of_loosely_read_answers_is_printed() -> None:
    loose = replace(model("a"), steps={"form": 8, "statement": 2})
    assert any(
        "20.0 % of the answers were read from free statements" in line for line in printed(study(loose))
    )


def test_more_notes_than_fit_are_counted() -> None:
    noted = replace(ML, notes=tuple(Note(kind) for kind in NoteKind if not kind.keys)[:8])
    lines = printed(study(model("a", [noted])), width=200)
    assert "4 more notes:  oversight estimate --all" in lines
    assert len(lines) == 3 + 2 + 6 + 1 + 2


def test_report_of_the_paper_holds_its_estimators_only() -> None:
    others = [replace(ML, estimator=name) for name in ("ord", "comp", "ivw", "assisted", "worst_case")]
    (only,) = paper_report(study(model("a", [ML, *others]))).models
    assert list(only.estimates) == ["ml", "ord", "comp", "ivw"]


def test_formats_hold_every_model_and_escape_its_name() -> None:
    study_ = study(model("a|b_&<"), model("without", estimates=()))
    texts = {kind: format_accuracies(study_, kind) for kind in FORMATS}
    assert texts["csv"].splitlines()[1:] == ["a|b_&<,0.688,0.561,0.784,0.95,True,", "without,,,,,,"]
    assert "| a\\|b\\_&amp;&lt; | 68.8 % | 56.1 % | 78.4 % | 95 % | yes |  |" in texts["markdown"]
    assert r"a|b\_\&< & 68.8 \% & 56.1 \%" in texts["latex"]
    assert all("without" in text for text in texts.values())


def test_a_failed_check_is_named_in_every_format() -> None:
    failed = replace(PASSED, passed=False)
    report = study(model("small", checks=(failed,)))
    assert all("coin" in format_accuracies(report, kind) for kind in FORMATS)
