"""Gates on items drawn with unequal chances: no verdict is wrong more often than its level allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oversight.harness.columns import align_models
from oversight.harness.estimate import FAIL, PASS, ErrorRanges, gate_accuracy
from oversight.harness.types import Labels
from tests.statistical.test_unequal_protocols_simulated import draw_study, predict

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
STUDIES = 180
MOST = 0.0825


def look_on(labels: Labels, model: list[Any], bar: float, looks: int) -> set[str]:
    """Verdicts of a gate that is asked again as answers come in, in random order."""
    (columns,), said = align_models([model], labels)
    found = set()
    for look in range(1, looks + 1):
        end = len(said) * look // looks
        if said.statement.asks_on:  # answers arrive in waves
            part = said.take(np.arange(end))
        else:
            order = np.random.default_rng(1).permutation(len(said))
            part = said.take(np.sort(order[:end]))
            part = replace(part, drawn=None, asked=part.labelled)
        found.add(gate_accuracy(columns, part, bar).verdict)
    return found


@pytest.mark.parametrize(
    ("protocol", "K", "accuracy", "sign"),
    [
        ("partitioned", 4, 0.7, 1),
        ("partitioned", 4, 0.7, -1),
        ("targeted", 4, 0.7, -1),
        ("targeted", 2, 0.95, 1),
        ("sequential", 4, 0.7, -1),
        ("sequential", 2, 0.95, 1),
    ],
)
def test_no_verdict_at_the_bar_is_wrong_too_often(protocol: str, K: int, accuracy: float, sign: int) -> None:
    passed = failed = 0
    for seed in range(STUDIES):
        labels, options, truth, _ = draw_study(protocol, K, (accuracy,), 500, 80, sign, seed)
        exact = float((options[0] == truth).mean())
        model = [predict(j, k) for j, k in enumerate(options[0].tolist())]
        found = look_on(labels, model, exact, 3)
        passed, failed = passed + (PASS in found), failed + (FAIL in found)
    assert max(passed, failed) <= MOST * STUDIES


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "sequential"])
def test_clusters_and_gold_keep_the_level_with_unequal_chances(protocol: str, sign: int) -> None:
    """The model is right on all items of a cluster or wrong on all; without clusters, experts err."""
    wrong = {"clusters": 0, "gold": 0}
    for seed in range(studies := STUDIES // 6):
        labels, options, truth, _ = draw_study(protocol, 3, (0.7,), 500, 100, sign, seed)
        right = options[0] == truth
        group = np.argsort(np.argsort(right, kind="stable")) // 5
        clustered = labels.clustered({f"i{j}": f"g{g}" for j, g in enumerate(group.tolist())})
        model = [predict(j, k) for j, k in enumerate(options[0].tolist())]
        bar = float(right.mean())
        wrong["clusters"] += bool(look_on(clustered, model, bar, 3) & {PASS, FAIL})
        if protocol != "sequential":
            (columns,), said = align_models([model], labels)
            rng = np.random.default_rng(seed)
            erred = rng.random(len(said)) < 0.05
            said = replace(said, kind=np.where(erred, 1 - said.kind, said.kind))
            missed, false = (int(rng.binomial(80, 0.05)) for _ in range(2))
            known = ErrorRanges(gold_true=(80 - missed, missed), gold_false=(false, 80 - false))
            found = gate_accuracy(columns, said, bar, errors=known, checks=False)
            wrong["gold"] += found.verdict in (PASS, FAIL)
    # each of the two verdicts may be wrong in 5 % of the studies
    assert max(wrong.values()) <= 0.1 * studies + 2.6 * np.sqrt(0.09 * studies)


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "sequential"])
def test_a_model_far_from_the_bar_gets_a_verdict(protocol: str) -> None:
    labels, options, _, _ = draw_study(protocol, 4, (0.8,), 1000, 300, 1, 3)
    model = [predict(j, k) for j, k in enumerate(options[0].tolist())]
    assert look_on(labels, model, 0.5, 1) == {PASS}
    assert look_on(labels, model, 0.95, 1) == {FAIL}
