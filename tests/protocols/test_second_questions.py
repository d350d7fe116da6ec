"""Second questions about items answered no: drawn, handed out, read back, and used by one estimate alone."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness import BadInput, ConfigError
from oversight.harness.analysis import (
    Bars,
    EstimateOptions,
    StudyReport,
    compare_study,
    compare_study_classes,
    gate_study,
    import_predictions,
    report_study,
)
from oversight.harness.cli.main import main
from oversight.harness.config import Study, read_study
from oversight.harness.estimate import ClassComparison, second_rates
from oversight.harness.store import Response, Store
from oversight.harness.types import Verdict
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import read_pending
from oversight.protocols.study_labels import export_open, import_answers, route_questions


def lay_out(
    folder: Path,
    *,
    K: int = 4,
    n: int = 80,
    rates: tuple[float, ...] = (0.8, 0.6),
    protocol: str = "partitioned",
    extra: str = "",
    cluster: int = 0,
    silent: float = 0.0,
    seed: int = 1,
) -> tuple[Study, dict[str, int]]:
    """A study with the predictions of models that err half of the time alike, and the truth."""
    rng = np.random.default_rng(seed)
    classes = [f"c{k}" for k in range(K)]
    truth, alike = rng.integers(K, size=n), rng.integers(1, K, size=n)
    rows = "".join(f"i{j},note {j},g{j // max(1, cluster)}\n" for j in range(n))
    (folder / "items.csv").write_text("id,text,group\n" + rows)
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in classes)
    )
    grouped = 'cluster = "group"\n' if cluster else ""
    (folder / "study.toml").write_text(
        f'[study]\nname = "s"\nseed = {seed}\n[items]\nfile = "items.csv"\nclasses = {classes}\n{grouped}'
        f'[experts]\nprotocol = "{protocol}"\n{extra}'
    )
    study = read_study(folder / "study.toml")
    for number, rate in enumerate(rates):
        right = rng.random(n) < rate
        if cluster:
            first = np.arange(n) // cluster * cluster
            right = np.where((rng.random(n) < 1 / 3)[first], right[first], right)
        wrong = np.where(rng.random(n) < 0.5, alike, rng.integers(1, K, size=n))
        option, mute = np.where(right, truth, (truth + wrong) % K), rng.random(n) < silent
        said = "".join(f"i{j},{'' if mute[j] else classes[o]}\n" for j, o in enumerate(option))
        (folder / f"m{number}.csv").write_text("id,prediction\n" + said)
        import_predictions(study, str(folder / f"m{number}.csv"), f"m{number}")
    return study, {f"i{j}": int(k) for j, k in enumerate(truth)}


def answer(study: Study, truth: dict[str, int], *, abstention: float = 0.0, seed: int = 1) -> int:
    with Store(study.store_url) as store:
        replies = store.replies(panel=False)
        done = replies.read_replies()
        open_now = [q for q in read_pending(study, store) if q.id not in done]
        said = SimulatedExperts(truth, abstention=abstention, seed=seed).answer(open_now)  # type: ignore[arg-type]
        return replies.add_replies(Response(a.question.id, a.expert, str(a.verdict), a.source) for a in said)


def estimates_of(study: Study) -> dict[str, Any]:
    with Store(study.store_url) as store:
        return {m.name: m for m in report_study(store, study).models}


def test_expected_narrowing_names_the_verbs_that_it_applies_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, truth = lay_out(tmp_path)
    route_questions(study)
    answer(study, truth)
    monkeypatch.chdir(tmp_path)
    assert main(["label", "route", "--more", "40", "--second"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "the interval of Two-phase in oversight estimate --all should be" in told
    assert "all other accuracies, compare and gate do not use them" in told


def test_second_questions_are_drawn_once_and_used_by_one_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    study, truth = lay_out(tmp_path)
    route_questions(study)
    assert answer(study, truth) == 80
    before = estimates_of(study)
    monkeypatch.chdir(tmp_path)
    told = oversight("label", "route", "--more", "40", "--second", "--json")
    assert (told["new"], told["questions"], told["second"]["drawn"]) == (40, 120, 40)
    assert 0.5 < told["second"]["narrower"] < 1
    with Store(study.store_url) as store:
        second, first = (store.content.read_questions(second=is_second) for is_second in (True, False))
        said = {a.question.item_id: a for a in store.content.read_answers()}
    for q in second:
        assert said[q.item_id].verdict is Verdict.NO
        assert said[q.item_id].question.option != q.option
        assert q.propensities[said[q.item_id].question.option] == 0
        assert q.propensity == q.propensities[q.option] > 0
        assert sum(q.propensities) <= 1 + 1e-9
    assert len({q.item_id for q in second}) == 40
    assert len(first) == 80
    again = oversight("label", "route", "--more", "40", "--second", "--json", code=2)
    assert "40 second questions were drawn before" in again["error"]
    assert oversight("label", "route", "--json")["new"] == 0
    assert oversight("label", "status", "--json")["open"] == 40
    for name, model in estimates_of(study).items():
        assert (
            "40 of 40 second questions about this model's items are not answered"
            in model.undefined["deepened"]
        )
        assert dict(model.estimates) == dict(before[name].estimates)
    paths, left = export_open(study, tmp_path / "out")
    assert left == 40
    for path in paths:
        rows = list(csv.DictReader(path.read_text().splitlines()))
        by_id = {q.id: q for q in second}
        for row in rows:
            q = by_id[row["question_id"].removeprefix("q-")]
            row["answer"] = "yes" if truth[q.item_id] == q.option else "no"
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    assert import_answers(study, paths) == (40, 40)
    for name, model in estimates_of(study).items():
        deepened = model.estimates["deepened"]
        assert (
            deepened.high - deepened.low
            < before[name].estimates["ml"].high - before[name].estimates["ml"].low
        )
        assert "second_questions: 40 of 40 used" in deepened.flags
        assert model.estimates["ml"] == before[name].estimates["ml"]
    assert "40 second questions about items answered no: only" in compare_study(study).remark
    (check,) = gate_study(study, Bars(at_least=0.5), names=["m0"]).checks
    assert any("only oversight estimate uses them" in note for note in check.remarks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"K": 2}, "nothing is left to ask"),
        ({"protocol": "targeted", "rates": (0.8,)}, "cover too rarely"),
        ({"protocol": "sequential"}, "asks until every item is resolved"),
        ({"protocol": "disagreement"}, "asks only about items on which two models differ"),
        ({"extra": "options_per_item = 2\n"}, "asks several first questions about an item"),
    ],
)
def test_protocols_without_use_for_second_questions_say_so(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    study, truth = lay_out(tmp_path, n=12, **options)
    route_questions(study)
    answer(study, truth)
    with pytest.raises(BadInput, match=message):
        route_questions(study, more=5, second=True)
    with Store(study.store_url) as store:
        assert store.content.read_questions(second=True) == []


def test_second_questions_need_all_first_answers_and_end_the_first_draw(tmp_path: Path) -> None:
    study, truth = lay_out(tmp_path, n=30)
    with pytest.raises(BadInput, match="second together with --more N"):
        route_questions(study, second=True)
    route_questions(study)
    with pytest.raises(BadInput, match="no answer yet to 30 first questions"):
        route_questions(study, more=5, second=True)
    answer(study, truth)
    with pytest.raises(BadInput, match="add --second"):
        route_questions(study, more=5)
    drawn = route_questions(study, more=500, second=True)  # all remaining items
    assert drawn.second is not None
    assert len(drawn.second.questions) == drawn.second.left < 30
    with (tmp_path / "items.csv").open("a") as stream:
        stream.write("i99,a late note,g\n")
    with pytest.raises(ConfigError, match="1 item would get a first question but no second"):
        route_questions(study)


def test_second_rates_sum_to_the_number_and_prefer_items_with_disagreement() -> None:
    predicted = np.array([[0, 0], [0, 1], [2, 2], [3, 3]])
    posterior = np.array(
        [[0.7, 0.1, 0.1, 0.1], [0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]]
    )
    left = np.ones((4, 4), np.bool_)
    left[3, 3] = False  # both models are refuted, so a second question has no use
    rates = second_rates(predicted, posterior, left, 2, first=(np.ones(2), np.full(2, 0.5)))
    assert rates.chance.sum() == pytest.approx(2)
    assert np.allclose(rates.shares.sum(axis=1), 1)
    assert rates.shares[3, 3] == 0
    assert (rates.shares[left] > 0).all()
    assert np.argmin(rates.chance) == 3
    assert rates.chance[3] > 0
    assert rates.shares[0].argmax() == 0


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("number", "abstention", "options"),
    [
        (30, 0.0, {"K": 4, "n": 100, "rates": (0.98, 0.9)}),
        (40, 0.0, {"K": 16, "n": 80, "rates": (0.9, 0.6)}),
        (30, 0.1, {"K": 4, "n": 100, "rates": (0.8, 0.7), "silent": 0.15}),
        (60, 0.0, {"K": 4, "n": 150, "rates": (0.8, 0.7), "cluster": 5}),
    ],
)
def test_intervals_hold_and_estimates_are_unbiased(
    tmp_path: Path, number: int, abstention: float, options: dict[str, Any]
) -> None:
    rates = options["rates"]
    truths = np.array(rates) * (1 - options.get("silent", 0.0))
    covered, errors, narrower = [], [], []
    for seed in range(24):
        folder = tmp_path / str(seed)
        folder.mkdir()
        study, truth = lay_out(folder, seed=seed, **options)
        route_questions(study)
        answer(study, truth, abstention=abstention, seed=seed)
        route_questions(study, more=number, second=True)
        answer(study, truth, abstention=abstention, seed=seed)
        for name, model in estimates_of(study).items():
            deepened, A = model.estimates["deepened"], truths[int(name[1:])]
            main = next(model.estimates[key] for key in ("ml", "routed") if key in model.estimates)
            covered.append(deepened.low <= A <= deepened.high)
            errors.append(deepened.value - A)
            narrower.append((deepened.high - deepened.low) / (main.high - main.low))
    assert np.mean(covered) >= 0.86
    assert abs(np.mean(errors)) <= 0.005 + 3 * np.std(errors) / np.sqrt(24)
    assert abstention or np.mean(narrower) < 1


def answer_unsure(study: Study, truth: dict[str, int], number: int) -> int:
    """Answer second questions: unsure to the first `number` about a true option, then yes; no to others.

    Returns how many answers are unsure.
    """
    with Store(study.store_url) as store:
        open_now = store.content.read_questions(second=True)
        unsure = [q.id for q in open_now if q.option == truth[q.item_id]][:number]
        store.replies(panel=False).add_replies(
            Response(
                q.id,
                q.expert,
                "unsure" if q.id in unsure else "yes" if q.option == truth[q.item_id] else "no",
                "t",
            )
            for q in open_now
        )
    return len(unsure)


@pytest.mark.parametrize("number", [0, 1, 20])
def test_unsure_second_answers_widen_or_mark_the_interval(tmp_path: Path, number: int) -> None:
    study, truth = lay_out(tmp_path, n=120)
    route_questions(study)
    answer(study, truth)
    route_questions(study, more=60, second=True)
    unsure = answer_unsure(study, truth, number)
    options = replace(EstimateOptions.of_study(study), metrics=("prevalence",))
    with Store(study.store_url) as store:
        models = report_study(store, study, options=options).models
    why = f"{unsure} of 60 second questions have no yes or no, which could change the estimate too much"
    for model in models:
        found = model.estimates["deepened"]
        assert (found.why == why) == (number == 20) == (not found.holds)
        assert ("allows_for_missing" in found.flags) == (number == 1)
        assert model.classes is not None
        for share in model.classes.values():
            assert ("allows_for_missing" in share.flags or not share.holds) == (number > 0)


def test_results_by_class_use_first_answers_and_say_so(tmp_path: Path) -> None:
    study, truth = lay_out(tmp_path, n=120)
    study = study.model_copy(
        update={"estimate": study.estimate.model_copy(update={"metrics": ["precision"]})}
    )
    route_questions(study)
    answer(study, truth)

    def results() -> tuple[StudyReport, ClassComparison]:
        with Store(study.store_url) as store:
            report = report_study(store, study)
        return report, compare_study_classes(study)

    before = results()
    route_questions(study, more=30, second=True)
    answer(study, truth)
    after = results()
    # fewer than half of the items with a no got a second question, so results stay the same
    assert [model.classes for model in after[0].models] == [model.classes for model in before[0].models]
    assert after[1].results == before[1].results
    for found in after:
        assert found.left_out == (
            "30 second questions about items answered no: results by class use only first questions",
        )


def test_many_second_questions_change_results_by_class(tmp_path: Path) -> None:
    study, truth = lay_out(tmp_path, n=120)
    route_questions(study)
    answer(study, truth)

    def report() -> StudyReport:
        options = replace(EstimateOptions.of_study(study), metrics=("recall",))
        with Store(study.store_url) as store:
            return report_study(store, study, options=options)

    before = report()
    route_questions(study, more=60, second=True)
    answer(study, truth)
    after = report()
    assert [model.classes for model in after.models] != [model.classes for model in before.models]
    assert not after.left_out
