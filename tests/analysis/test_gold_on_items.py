"""Gold about the study's own items tells whether experts err about what a model predicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.analysis import import_predictions, report_study
from oversight.harness.analysis.controls import read_control_answers
from oversight.harness.config import Study, read_study
from oversight.harness.estimate import Check
from oversight.harness.store import ControlKind, Store
from oversight.protocols.study_labels import route_questions, simulate_answers

CLASSES = ("red", "green", "blue", "black")
N = 300
TRUTH = np.random.default_rng(3).integers(4, size=N)


def lay_out(folder: Path, gold: str) -> Study:
    """A study whose experts take a quarter of all false options for true."""
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},note {j}.\n" for j in range(N)))
    (folder / "key.csv").write_text(
        "id,label\n" + "".join(f"i{j},{CLASSES[t]}\n" for j, t in enumerate(TRUTH))
    )
    (folder / "gold.csv").write_text(gold)
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}{e}"\nclasses = ["{c}"]\n' for c in CLASSES for e in range(2))
    )
    (folder / "study.toml").write_text(
        f'[study]\nname = "s"\nseed = 2\n[items]\nfile = "items.csv"\nclasses = {list(CLASSES)}\n'
        '[experts]\ngold = "gold.csv"\ngold_share = 0.6\n'
    )
    study = read_study(folder / "study.toml")
    route_questions(study)
    simulate_answers(study, str(folder / "key.csv"), sensitivity=1.0, specificity=0.75)
    return study


OWN_ITEMS = "id,answer\n" + "".join(f"i{j},{CLASSES[t]}\n" for j, t in enumerate(TRUTH))
OTHER_ITEMS = "text,answer\n" + "".join(f"gold {j}.,{CLASSES[j % 4]}\n" for j in range(200))


def add_model(study: Study, name: str, option: Any) -> None:
    file = study.path(f"{name}.csv")
    file.write_text("id,prediction\n" + "".join(f"i{j},{CLASSES[o]}\n" for j, o in enumerate(option)))
    import_predictions(study, str(file), name)


def find_false_yes(study: Study) -> Any:
    """The truth, but where an expert took a false option of gold for true: that option."""
    found = TRUTH.copy()
    with Store(study.store_url) as store:
        answers = read_control_answers(study, store)
        assert answers is not None
        texts = {name: gold.item.text for name, gold in store.controls.read_gold_items().items()}
        for c in answers.controls:
            if c.kind is ControlKind.GOLD and answers.replies[c.id].value == "yes":
                found[int(texts[c.item_id].split()[1].rstrip("."))] = c.option
    return found


def check_of(study: Study, model: str) -> Check:
    with Store(study.store_url) as store:
        (found,) = (m for m in report_study(store, study).models if m.name == model)
    assert next(iter(found.estimates)) == "corrected"
    return next(c for c in found.checks if c.name == "gold_errors")


def test_errors_about_what_a_model_predicts_fail_and_others_pass(tmp_path: Path) -> None:
    study = lay_out(tmp_path, OWN_ITEMS)
    rng = np.random.default_rng(1)
    add_model(study, "liked", find_false_yes(study))
    add_model(study, "plain", np.where(rng.random(N) < 0.5, TRUTH, rng.integers(0, 4, N)))
    liked = check_of(study, "liked")
    assert liked.state == "failed"
    assert "wrong answers about false options" in liked.message
    assert check_of(study, "plain").passed


def test_gold_that_no_model_predicts_says_what_the_correction_supposes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    study = lay_out(tmp_path, OTHER_ITEMS)
    add_model(study, "plain", TRUTH)
    assert check_of(study, "plain").state == "not made"
    monkeypatch.chdir(tmp_path)
    text = oversight("estimate")
    assert "err equally often whatever the model predicts" in " ".join(str(text).split())
    shown = oversight("estimate", "--json")
    assert "whatever the model predicts" in str(shown["models"])
