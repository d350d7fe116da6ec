"""The chain of the label verbs from Python: route, hand out, read back, simulate; yes/no and panel."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from oversight.harness import BadInput, ConfigError
from oversight.harness.config import Study, read_study
from oversight.harness.datasets import read_ratings
from oversight.protocols.study_labels import (
    export_open,
    export_ratings,
    import_answers,
    route_panel,
    route_questions,
    simulate_answers,
)

CLASSES = '["red", "green", "blue"]'


def lay_out(folder: Path, roster: str, extra: str = "") -> Study:
    (folder / "study.toml").write_text(
        f'[study]\nname = "s"\n[items]\nfile = "items.csv"\nclasses = {CLASSES}\n{extra}'
    )
    (folder / "experts.toml").write_text(roster)
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(12)))
    (folder / "key.csv").write_text("id,label\n" + "".join(f"i{j},red\n" for j in range(12)))
    return read_study(folder / "study.toml")


def fill_in(path: Path, column: str, value: str) -> None:
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, column: value} for row in rows)


def test_yes_no_questions_go_out_and_come_back(tmp_path: Path) -> None:
    roster = "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in ("red", "green", "blue"))
    study = lay_out(tmp_path, roster)
    first = route_questions(study)
    assert (first.asked.total(), first.new, first.items) == (12, 12, 12)
    assert route_questions(study).new == 0
    paths, left = export_open(study, tmp_path / "out")
    assert left == 12
    fill_in(paths[0], "answer", "no")
    read, new = import_answers(study, paths)
    assert read == new == first.asked[paths[0].stem.removeprefix("questions-")]
    assert import_answers(study, paths) == (read, 0)
    assert simulate_answers(study, str(tmp_path / "key.csv")) == 12 - read
    assert export_open(study, tmp_path / "later") == ([], 0)


def test_panel_is_exported_and_imported(tmp_path: Path) -> None:
    roster = "".join(f'[[expert]]\nname = "{name}"\nclasses = ["*"]\n' for name in ("ana", "bea", "cem"))
    extra = '[experts]\nprotocol = "panel"\nannotators_per_item = 2\n'
    study = lay_out(tmp_path, roster, extra)
    with pytest.raises(BadInput, match="draw them with: oversight label route"):
        export_open(study, tmp_path / "out")
    drawn = route_panel(study)
    assert (drawn.asked.total(), drawn.each, drawn.annotators) == (24, 2, 3)
    with pytest.raises(ConfigError, match="is a panel already"):
        route_questions(study)
    with pytest.raises(BadInput, match="this study is a panel"):
        simulate_answers(study, str(tmp_path / "key.csv"))
    paths, left = export_open(study, tmp_path / "out", "csv")
    assert left == 24
    for path in paths:
        fill_in(path, "label", "Green")
    assert import_answers(study, paths) == (24, 24)
    assert export_ratings(study, tmp_path / "ratings.csv") == 24
    assert {rating.label for rating in read_ratings(tmp_path / "ratings.csv")} == {"green"}
