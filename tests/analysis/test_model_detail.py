"""Intervals by number of answers and by stratum carry the doubts of the study's estimate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oversight.harness.analysis import close_interval, estimate_strata, import_predictions
from oversight.harness.config import Study, read_study
from oversight.harness.store import Store
from oversight.protocols.study_labels import route_questions, simulate_answers
from tests.studies.opened import copy_study

CLASSES = ("red", "green", "blue", "black")
N = 200


def lay_out(
    folder: Path, *, n_texts: int = N, specificity: float = 1.0, gold: bool = False, predicted: int = N
) -> Study:
    """A study of N items in two wards with `n_texts` texts, all answered, and a model that is often right."""
    truth = [CLASSES[j % n_texts % 4] for j in range(N)]
    rows = [f"i{j},note {j % n_texts}.,{'xy'[j % 2]}\n" for j in range(N)]
    (folder / "items.csv").write_text("id,text,ward\n" + "".join(rows))
    (folder / "key.csv").write_text("id,label\n" + "".join(f"i{j},{t}\n" for j, t in enumerate(truth)))
    (folder / "gold.csv").write_text(
        "text,answer\n" + "".join(f"gold {j}.,{CLASSES[j % 4]}\n" for j in range(100))
    )
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}{e}"\nclasses = ["{c}"]\n' for c in CLASSES for e in range(2))
    )
    (folder / "study.toml").write_text(
        '[study]\nname = "s"\nseed = 2\n[items]\nfile = "items.csv"\nmeta = ["ward"]\n'
        f"classes = {list(CLASSES)}\n" + '[experts]\ngold = "gold.csv"\ngold_share = 0.6\n' * gold
    )
    study = read_study(folder / "study.toml")
    route_questions(study)
    simulate_answers(study, str(folder / "key.csv"), sensitivity=1.0, specificity=specificity)
    says = np.where(np.random.default_rng(1).random(N) < 0.7, truth, "red")
    (folder / "m.csv").write_text(
        "id,prediction\n" + "".join(f"i{j},{said}\n" for j, said in enumerate(says[:predicted]))
    )
    import_predictions(study, str(folder / "m.csv"), "m")
    return study


@pytest.mark.parametrize(
    ("design", "reason"),
    [
        ({}, ""),
        ({"gold": True, "specificity": 0.93}, "experts err, and this number is not corrected for it"),
        ({"n_texts": 120}, "answered items share their text"),
        ({"predicted": 130}, "the items answered first may not be a random sample"),
    ],
)
def test_every_part_has_the_doubt_of_the_study_s_anytime_estimate(
    design: dict[str, Any], reason: str, tmp_path: Path, oversight: Callable[..., Any]
) -> None:
    study = lay_out(tmp_path, **design)
    told = oversight("estimate", "--study", tmp_path / "study.toml", "--anytime")
    expected = told["models"]["m"]["estimates"]["anytime"]
    with Store(study.store_url) as store:
        points = close_interval(study, store, "m").points
        strata = estimate_strata(study, store, ["m"], "ward")["m"]
    last = points[-1][1]
    assert (last.low, last.high) == pytest.approx((expected["low"], expected["high"]))
    assert expected["holds"] is (reason == "")
    assert reason in expected["why"]
    for found in [*(e for _, e in points), *(s.estimate for s in strata)]:
        assert found is not None
        assert (found.holds, reason in found.why) == (expected["holds"], True)


def test_points_count_answers_and_not_questions_passed_over(
    tmp_path: Path, oversight: Callable[..., Any]
) -> None:
    folder = copy_study("half", tmp_path)
    study = read_study(folder / "study.toml")
    told = oversight("estimate", "--study", folder / "study.toml")
    with Store(study.store_url) as store:
        points = close_interval(study, store, next(iter(told["models"]))).points
    assert (told["questions"], points[-1][0]) == ({"drawn": 30, "answered": 25}, 25)
