"""Results as frames and as HTML: every row, nothing unescaped, nothing silent."""

from __future__ import annotations

import inspect
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest

import oversight as ov
from oversight.harness import WrongType
from oversight.harness.estimate import ModelEstimates
from oversight.harness.types import Displayable, HtmlTable

EVIL = "<script>alert('x')</script>&"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.seen, self.texts = list[str](), set[str](), list[str]()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        assert not any("color" in (value or "") or name.startswith("on") for name, value in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(result: Any) -> str:
    """The texts of what a notebook shows, whose tags are the harmless ones."""
    tags = Tags(result._repr_html_())
    assert tags.seen <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    return " | ".join(tags.texts)


def labelled(models: int = 2, n: int = 60) -> tuple[dict[str, list[ov.Prediction]], list[ov.Label]]:
    """Every item has one yes-answer to its true option; model m is wrong on every (m + 3)-th."""
    labels = [ov.Label(f"i{j}", 0, ov.LabelKind.ORDINARY, 2, 0.5) for j in range(n)]
    made = {
        f"{EVIL}{m}": [ov.Prediction(f"i{j}", int(j % (m + 3) == 0)) for j in range(n)] for m in range(models)
    }
    return made, labels


def test_an_estimate_is_a_row() -> None:
    estimate = ov.estimate_counts(4, 77, 120, 321, 360)["ml"]
    (row,) = estimate.to_frame().to_dict("records")
    assert (row["estimator"], row["value"], row["holds"]) == ("ml", estimate.value, True)
    assert (row["ordinary"], row["complementary"]) == (120, 360)
    assert shown(estimate).startswith("0.656 [0.587, 0.717] ML, exact 95% · 120 ordinary")
    assert "ML | 65.6 % | 58.7 % – 71.7 % | exact 95%" in shown(ov.estimate_counts(4, 77, 120, 321, 360))


def test_estimates_that_are_undefined_are_rows_with_a_reason() -> None:
    found = ov.estimate_counts(4, 0, 0, 321, 360)
    frame = found.to_frame().set_index("estimator")
    assert "ord" in found.undefined
    assert frame["value"].isna()["ord"]
    assert frame.loc["ord", "why"] == found.undefined["ord"]
    assert f"Ord (yes only): no estimate: {found.undefined['ord']}" in shown(found)


def test_several_models_have_a_column_for_their_names_and_are_escaped() -> None:
    models, labels = labelled()
    found = ov.model_accuracies(models, labels)
    assert isinstance(found, ModelEstimates)
    assert list(found.to_frame()["model"].unique()) == list(models)
    assert EVIL in shown(found)
    by_name = ov.to_frame({name: made["ml"] for name, made in found.items()})
    assert list(by_name["name"]) == list(models)


def test_an_interval_that_may_not_hold_says_so() -> None:
    from dataclasses import replace

    estimate = replace(ov.estimate_counts(4, 77, 120, 321, 360)["ml"], why=EVIL)
    assert f"the interval may not hold: {EVIL}" in shown(estimate)
    assert not estimate.to_frame()["holds"].item()


def test_a_result_prints_its_number_first_and_a_doubt_before_it() -> None:
    from dataclasses import replace

    found = ov.estimate_counts(4, 77, 120, 321, 360)
    assert repr(found).startswith("0.656 [0.587, 0.717] ML, exact 95%")
    assert repr(found).splitlines()[1].startswith("other estimates: Ord")
    assert repr(replace(found["ml"], why="of chance")).startswith("(!) 0.656 ")
    empty = type(found)({}, {"ml": "no answers"})
    assert repr(empty) == "no accuracy: no answers"


def test_a_comparison_prints_its_verdict_first() -> None:
    from dataclasses import replace

    models, labels = labelled(3)
    plain = {f"m{j}": made for j, made in enumerate(models.values())}
    pair = replace(ov.compare({name: plain[name] for name in ("m0", "m2")}, labels).pairs[0], why="")
    assert repr(pair).startswith("not decided: m0 − m2 ")
    assert repr(replace(pair, p_value=0.001)).startswith("m2 is better: m0 − m2 -")
    assert repr(replace(pair, why="of chance")).startswith("(!) not decided")
    mark = "(!) 3 of 3 intervals may not hold; "
    assert repr(ov.compare(plain, labels)).startswith(
        f"{mark}best: not decided between m2, m1, m0 of 3 models\n"
    )


def test_a_gate_prints_its_verdict_and_has_a_row() -> None:
    models, labels = labelled(2, 400)
    first, second = models.values()
    passed = ov.gate_accuracy(second, labels, 0.5, checks=False)
    assert repr(passed).startswith("pass: value 0.7")
    assert "value at least" not in shown(passed)
    assert passed.to_frame()["verdict"].item() == "pass"
    failed = ov.gate_difference(first, second, labels, 0.3, checks=False)
    assert repr(failed).startswith("fail: value -0.")


def test_comparisons_and_rankings_have_frames_and_texts() -> None:
    from oversight.harness.types import LabelDesign, Labels

    models, labels = labelled(3)
    asked = Labels(labels, LabelDesign(statements=(), asked=frozenset(x.item_id for x in labels)))
    found = ov.compare(models, asked)
    assert len(found.to_frame()) == 3
    assert {"first", "second", "difference", "verdict", "p_value", "holds"} <= {*found.to_frame()}
    assert EVIL in shown(found)
    assert found.ranking is not None
    assert list(found.ranking.to_frame()["model"]) == list(found.ranking.names)
    assert "models that share a rank cannot be told apart" in shown(found.ranking)
    assert found.pairs[0].to_frame()["verdict"].item() == found.pairs[0].verdict


def test_plan_has_a_frame_and_a_text() -> None:
    found = ov.plan(8, 0.7, questions=400)
    assert {*found.to_frame()["of"]} == {"accuracy", "difference"}
    assert {*found.to_frame()["questions"]} == {400}
    assert "targeted" in shown(found)
    accuracy, difference = repr(found).splitlines()
    assert accuracy.startswith("accuracy, best of 3 protocols: targeted, 400 questions, ±")
    assert difference.startswith("difference of 2 models, best of ")
    clustered = ov.plan(8, 0.7, half_width=0.03, cluster_size=5, intraclass=0.25)
    alone = ov.plan(8, 0.7, half_width=0.03)
    for with_clusters, without in zip(clustered.accuracy, alone.accuracy, strict=True):
        assert 2 * without.questions < with_clusters.questions < 2.3 * without.questions
    with pytest.raises(ov.EstimateError, match="intraclass"):
        ov.plan(8, cluster_size=2, intraclass=2)


def test_records_become_frames() -> None:
    item = ov.Item("a", "text", ("x", "y"), (1, 0), {"subject": "s", "text": "not this one"})
    frame = ov.to_frame([item])
    assert list(frame) == ["id", "text", "options", "permutation", "subject"]
    assert ov.read_items(frame, meta=["subject"], shuffle=False)[0].options == item.options
    label = ov.Label("a", 0, ov.LabelKind.COMPLEMENTARY, 2, 0.5, "ana")
    assert ov.to_frame([label])["kind"].item() == "complementary"
    assert ov.to_frame([ov.Prediction("a", 1)])["status"].item() == "ok"
    assert ov.to_frame([]).empty


@pytest.mark.parametrize("given", [5, "text", [5], None])
def test_value_that_is_no_result_is_refused(given: Any) -> None:
    with pytest.raises(WrongType, match=r"^result: expected a result or a list of records, got"):
        ov.to_frame(given)


def test_missing_pandas_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ov.ConfigError, match="pip install"):
        ov.estimate_counts(4, 77, 120, 321, 360).to_frame()


def test_results_are_shown_without_pandas() -> None:
    code = (
        "import sys, oversight as ov; ov.estimate_counts(4, 77, 120, 321, 360)._repr_html_();"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def test_results_with_rows_name_them() -> None:
    for kind in Displayable.__subclasses__():
        assert not inspect.isabstract(kind), kind

    class Rowless(Displayable):
        def __str__(self) -> str:
            return ""

        def html_tables(self) -> tuple[HtmlTable, ...]:
            return ()

    with pytest.raises(TypeError, match="records"):
        Rowless()  # type: ignore[abstract]
