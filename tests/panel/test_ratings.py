"""The long-form contract: files to ratings to a panel, and every kind of bad row by its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from oversight.harness import DataError, EstimateError
from oversight.harness.cli.main import main
from oversight.harness.datasets import read_choices, read_ratings
from oversight.harness.panel import make_panel
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.types import Rating

GOOD = "item,annotator,label\ni1,ana,yes\ni1,bo,no\ni2,ana,yes\ni2,bo,\n"


def put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_three_formats_give_the_same_ratings(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [("i1", "ana", 1), ("i1", "bo", 2), ("i2", "ana", None)]
    csv = "item,annotator,label\n" + "".join(f"{i},{a},{'' if v is None else v}\n" for i, a, v in rows)
    jsonl = "".join(json.dumps({"item": i, "annotator": a, "label": v}) + "\n" for i, a, v in rows)
    put(tmp_path / "r.csv", csv)
    put(tmp_path / "r.jsonl", jsonl)
    columns = dict(zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True))
    columns["label"] = tuple(None if v is None else float(v) for v in columns["label"])
    pq.write_table(pa.table({k: list(v) for k, v in columns.items()}), tmp_path / "r.parquet")
    expected = [Rating("i1", "ana", "1"), Rating("i1", "bo", "2")]
    for name in ("r.csv", "r.jsonl", "r.parquet"):
        assert read_ratings(tmp_path / name) == expected


def test_a_table_with_a_column_per_annotator_gives_the_same_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("i1", "yes", "no", "yes"), ("i2", "yes", "yes", ""), ("i3", "no", "no", "no")]
    wide = put(tmp_path / "wide.csv", "item,ana,bo,'=cem\n" + "".join(",".join(row) + "\n" for row in rows))
    people = ("ana", "bo", "'=cem")
    cells = [(i, who, said) for i, *labels in rows for who, said in zip(people, labels, strict=True)]
    put(tmp_path / "long.csv", "item,annotator,label\n" + "".join(",".join(row) + "\n" for row in cells))
    told = []
    for name in ("wide.csv", "long.csv"):
        assert main(["panel", "agree", str(tmp_path / name), "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1]
    assert told[0]["ratings"] == 8
    put(wide, "item,note,ana,bo\ni1,hard,yes,no\ni2,easy,yes,yes\n")
    assert main(["panel", "agree", str(wide)]) == 2
    assert (
        f"{wide}: the columns note, ana, bo were read as annotators, but most values of note are in no"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("item,ana,bo\ni1,yes,no\ni2,maybe,no\n", ":3 [ana]", "'maybe' is not a class; classes are yes, no"),
        ("item,ana,bo\ni1,yes,no\ni1,yes,no\n", ":3 [item]",
         "is also in line 2; without the columns annotator and label a table has one row per item"),
        ("item,ana\ni1,yes\n", "", "the columns are item, ana; ratings need item, annotator, label, or "
         "item and one column for each of several annotators"),
        ("id,ana,bo\ni1,yes,no\n", "", "the columns are id, ana, bo; ratings need item, annotator, "
         "label, or item and one column for each of several annotators"),
    ],
)  # fmt: skip
def test_a_wrong_table_with_a_column_per_annotator_is_refused(
    tmp_path: Path, text: str, place: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path / "bad.csv", text)
    assert main(["panel", "agree", str(path), "--classes", "yes,no"]) == 2
    assert f"{path}{place}: {message}" in capsys.readouterr().err


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    path = put(tmp_path / "r.csv", "task,worker,answer\n1,7,a\n")
    assert read_ratings(path, item="task", annotator="worker", label="answer") == [Rating("1", "7", "a")]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("item,annotator\ni1,ana\n", ":2 [label]", "there is no such column; there are: item, annotator"),
        ("item,annotator,label\n,ana,yes\n", ":2 [item]", "is empty"),
        ("item,annotator,label\ni1,,yes\n", ":2 [annotator]", "is empty"),
        ("item,annotator,label\ni1,ana,maybe\n", ":2 [label]", "'maybe' is not a class; classes are yes, no"),
        ("item,annotator,label\ni1,ana,yes\ni1,ana,no\n", ":3 [annotator]",
         "'ana' rates the item 'i1' again; first in line 2"),
        ("item,annotator,label\ni1,ana,\n", "", "the source contains no rating"),
        ("item,annotator,label\ni1,ana\n", ":2", "2 values, but the header has 3 columns"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_by_file_line_and_field(
    tmp_path: Path, text: str, place: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path / "bad.csv", text)
    with pytest.raises(DataError) as caught:
        read_ratings(path, classes=("yes", "no"))
    assert str(caught.value) == f"{path}{place}: {message}"
    assert main(["panel", "agree", str(path), "--classes", "yes,no"]) == 2
    assert message in capsys.readouterr().err


def test_lists_in_place_of_labels_are_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "r.jsonl", '{"item": "i", "annotator": "a", "label": ["x"]}\n')
    with pytest.raises(DataError, match=r"r\.jsonl:1 \[label\]: must be text or a number, is \['x'\]"):
        read_ratings(path)


def test_choices_need_one_label_per_item(tmp_path: Path) -> None:
    path = put(tmp_path / "c.csv", "item,label\ni1,yes\ni2,\n")
    assert read_choices(path) == {"i1": "yes", "i2": None}
    put(path, "item,label\ni1,yes\ni1,no\n")
    with pytest.raises(DataError, match=r"c\.csv:3 \[item\]: the item 'i1' occurs again; first in line 2"):
        read_choices(path)
    put(path, "item,label\ni1,perhaps\n")
    with pytest.raises(DataError, match=r"c\.csv:2 \[label\]: 'perhaps' is not a class"):
        read_choices(path, classes=("yes", "no"))
    put(path, "item,label\n")
    with pytest.raises(DataError, match="the source contains no label"):
        read_choices(path)


def test_panels_from_memory_name_row_and_value() -> None:
    rows = [Rating("i1", "ana", "a"), Rating("i1", "bo", "b"), Rating("i1", "ana", "b")]
    with pytest.raises(
        EstimateError, match="row 2: the annotator 'ana' rates the item 'i1' a second time, now 'b'"
    ):
        make_panel(rows)
    with pytest.raises(EstimateError, match="row 1: the label 'b' of item 'i1' by 'bo' is no class"):
        make_panel(rows[:2], ["a", "c"])
    with pytest.raises(EstimateError, match="a panel needs at least 2 classes, has 1"):
        make_panel(rows[:1])
    with pytest.raises(EstimateError, match="at least 1 rating, there are 0"):
        make_panel([])
    with pytest.raises(EstimateError, match="one is given twice"):
        make_panel(rows[:2], ["a", "a"])
    with pytest.raises(EstimateError, match=r"label\[0\] must lie in 0..1, is 2"):
        make_panel_from_grid(np.array([[2, 0]]), ["a", "b"])


def test_panel_counts_votes_and_removes_annotators() -> None:
    panel = make_panel_from_grid(np.array([[0, 1, -1], [1, 1, 1]]), ["a", "b"], ["ana", "bo", "cy"])
    assert panel.votes().tolist() == [[1, 1], [0, 3]]
    assert panel.grid().tolist() == [[0, 1, -1], [1, 1, 1]]
    without = panel.without(["ana"])
    assert without.annotators == ("bo", "cy")
    assert without.votes().tolist() == [[0, 1], [0, 2]]
    with pytest.raises(EstimateError, match="no ratings by annotator 'zoe'"):
        panel.without(["zoe"])
    assert panel.codes("predictions", ["b", None]).tolist() == [1, -1]
    with pytest.raises(EstimateError, match="predictions, item 'i0': 'z' is no class"):
        panel.codes("predictions", ["z", "a"])
    with pytest.raises(EstimateError, match="reference: there is no value for the item 'i1'"):
        panel.codes("reference", {"i0": "a"})
    with pytest.raises(EstimateError, match="must have length 2, has 1"):
        panel.codes("reference", ["a"])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty items, four annotators who copy the truth with probability .9, a model with .95."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=40)
    rows, model, oracle = ["item,annotator,label"], ["item,label"], ["item,label"]
    for n, t in enumerate(truth):
        rows += [f"i{n},a{a},{t if rng.random() < 0.9 else (t + 1) % 3}" for a in range(4)]
        model.append(f"i{n},{t if rng.random() < 0.95 else (t + 1) % 3}")
        oracle.append(f"i{n},{t if n % 2 else ''}")
    for name, lines in (("r.csv", rows), ("m.csv", model), ("o.csv", oracle)):
        put(tmp_path / name, "\n".join(lines) + "\n")
    return tmp_path


def test_the_three_verbs_print_json_tables_and_pictures(
    files: Path, oversight: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    commands = (
        ("panel", "agree", "r.csv", "--svg", "a.svg"),
        ("panel", "certify", "r.csv", "--model", "m.csv", "--oracle", "o.csv", "--svg", "c.svg"),
        ("panel", "parity", "r.csv", "--model", "m.csv", "--positive", "1",
         "--reference", "o.csv", "--svg", "p.svg"),
    )  # fmt: skip
    for words in commands:
        found = oversight(*words)
        assert isinstance(found, dict)
        svg = (files / words[-1]).read_text()
        assert svg.startswith("<svg")
        assert "currentColor" in svg
        again = oversight(*words)
        assert again == found
        assert (files / words[-1]).read_text() == svg
        assert main(list(words)) == 0
        assert f"wrote {words[-1]}" in capsys.readouterr().out


def test_agreement_of_numbers_needs_numeric_labels(
    files: Path, oversight: Callable[..., dict[str, object]]
) -> None:
    for level in ("nominal", "ordinal", "interval", "ratio"):
        found = oversight("panel", "agree", "r.csv", "--measurement", level)
        assert isinstance(found["alpha"], dict)
        assert 0.5 < found["alpha"]["value"] < 1
    put(files / "w.csv", GOOD)
    bad = oversight("panel", "agree", "w.csv", "--measurement", "interval", code=2)
    assert "labels must be numbers" in str(bad["error"])


def test_level_is_the_confidence_level_of_every_verb(
    files: Path, oversight: Callable[..., dict[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["panel", "agree", "r.csv"], ["panel", "certify", "r.csv", "--model", "m.csv"]):
        assert oversight(*words, "--level", "0.8") != oversight(*words)
        with pytest.raises(SystemExit, match="2"):
            main([*words, "--confidence", "0.8"])
        assert "this option was removed: use --level" in capsys.readouterr().err
    for wrong, told in (
        ("nominal", "did you mean --measurement nominal"),
        ("high", "must be a number"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["panel", "agree", "r.csv", "--level", wrong])
        assert stopped.value.code == 2
        assert told in capsys.readouterr().err


def test_certify_knows_pools_and_aggregates(files: Path, oversight: Callable[..., dict[str, object]]) -> None:
    fixed = oversight("panel", "certify", "r.csv", "--model", "m.csv")
    pool = oversight("panel", "certify", "r.csv", "--model", "m.csv", "--pool")
    assert fixed["fixed"] is True
    assert pool["fixed"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("panel", "certify", "r.csv"), "give --model (a file with the model's labels"),
        (("panel", "certify", "--counts", "{"), "--counts: '{' is not JSON"),
        (
            ("panel", "certify", "--counts", '{"L": 1}'),
            "give a JSON object with L, U_e, N, annotators, classes",
        ),
        (("panel", "certify", "r.csv", "--counts", "{}"), "--counts replaces the ratings"),
        (
            (
                "panel",
                "certify",
                "--counts",
                '{"L": 0.9, "U_e": 0.8, "N": 10.5, "annotators": 3, "classes": 2}',
            ),
            "N must be a whole number, is 10.5",
        ),
        (("panel", "certify", "r.csv", "--model", "few.csv"), "there is no value for the item 'i1'"),
        (("panel", "certify", "r.csv", "--model", "stray.csv"), "the item 'nowhere' has no rating in r.csv"),
        (("panel", "certify", "r.csv", "--model", "none.csv"), "there is no such file"),
        (
            ("panel", "parity", "r.csv", "--model", "m.csv", "--humans", "zoe"),
            "no ratings by annotator 'zoe'",
        ),
        (("panel", "agree", "one.csv"), "at least 2 annotators, there is 1"),
    ],
)
def test_bad_calls_say_what_is_wrong(
    files: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(files / "few.csv", "item,label\ni0,1\n")
    text = (files / "m.csv").read_text()
    put(files / "stray.csv", text + "nowhere,1\n")
    put(files / "one.csv", "item,annotator,label\ni0,a,1\ni1,a,2\n")
    assert main(list(words)) == 2
    assert message in capsys.readouterr().err


def test_counts_without_a_certificate_say_what_would_settle_it(
    oversight: Callable[..., dict[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    bert = '{"L": 0.949, "U_e": 0.939, "N": 1821, "annotators": 3, "classes": 2'
    assert main(["panel", "certify", "--counts", bert + "}"]) == 0
    out = capsys.readouterr().out
    assert "Not certified; 3,783 items with this margin would suffice" in out
    assert 'add "disagreement"' in out
    found = oversight("panel", "certify", "--counts", bert + ', "disagreement": 0.118}')
    plans = found["direct"]
    assert isinstance(plans, list)
    assert [p["questions"] for p in plans] == [158, 37, 18, 8]
