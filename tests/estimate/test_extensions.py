"""A protocol and a kind of side information can be added in one file each, without a change elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.harness.columns import PredictionColumns, align_pool
from oversight.harness.estimate import Evidence, Setting, SideInformation, estimate_models
from oversight.harness.registry import PROTOCOLS, load_protocol
from oversight.harness.types import Estimate, Item, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import one_expert_per_class

K, N, ACCURACY = 4, 200, 0.7
CLASSES = tuple(f"class {k}" for k in range(K))
ITEMS = [Item(f"i{j}", "t", CLASSES, tuple(range(K))) for j in range(N)]
PROTOCOL_FILE = '''
from dataclasses import dataclass
import numpy as np
from oversight.harness import derive_seed
from oversight.harness.estimate import ROUTED_ASSUMPTIONS, decode
from oversight.harness.types import ProtocolStatement
from oversight.protocols.routing.partitioned import FreeExperts
from oversight.protocols.routing.routing_protocol import put_question

@dataclass(frozen=True)
class HalfPredicted:
    """Ask about the predicted option with probability 1/2, otherwise about another one."""

    roster: object
    predictions: dict
    seed: int = 0
    name = "half-predicted"
    statement = ProtocolStatement(
        estimator="weighted", assumptions=ROUTED_ASSUMPTIONS, answers=frozenset({"accuracy"})
    )
    decode = staticmethod(decode)

    def route(self, items):
        free, questions = FreeExperts(self.roster), []
        for item in items:
            K = len(item.options)
            pi = np.full(K, 0.5 / (K - 1))
            pi[self.predictions[item.id]] = 0.5
            rng = np.random.default_rng(derive_seed(self.seed, item.id))
            option = int(rng.choice(K, p=pi))
            expert = free.draw(item, option, rng.integers)
            questions.append(put_question(self, item, option, expert, pi[option], tuple(pi.tolist())))
        return questions
'''


def make_truth(seed: int) -> list[dict[str, int]]:
    """True options, and those that a model of the known accuracy predicts."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=N)
    wrong = (truth + rng.integers(1, K, size=N)) % K
    predicted = np.where(rng.random(N) < ACCURACY, truth, wrong)
    ids = [item.id for item in ITEMS]
    return [dict(zip(ids, column.tolist(), strict=True)) for column in (truth, predicted)]


def test_protocol_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_predicted.py").write_text(PROTOCOL_FILE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(PROTOCOLS, "half-predicted", "half_predicted:HalfPredicted")
    rule: Any = load_protocol("half-predicted")
    covered = []
    for seed in range(20):
        truth, predicted = make_truth(seed)
        plan = rule(one_expert_per_class(CLASSES), predicted, seed)
        labels = plan.decode(list(SimulatedExperts(truth).answer(plan.route(ITEMS))))
        found = ov.accuracy([Prediction(i, k) for i, k in predicted.items()], labels)
        assert (found.estimator, found.assumptions) == ("routed", rule.statement.assumptions)
        covered.append(found.low <= ACCURACY <= found.high)
    assert sum(covered) >= 17  # with coverage 95 %, fewer than 17 of 20 draws cover in 1 of 60 tests


class Archive(SideInformation):
    """Side information: what an archive of earlier cases says, wrong half of the time."""

    name, feature = "with an archive", "archive"
    subject = "the archive is"

    def __init__(self, models: dict[str, PredictionColumns], said: np.ndarray[Any, Any]) -> None:
        self._models, self._said = models, said

    def estimate(self, model: str, setting: Setting) -> Estimate:
        evidence = Evidence.of(self._models[model], setting.labels)
        working = np.full((len(evidence.items), K), 0.5 / K)
        working[np.arange(len(working)), self._said[evidence.items]] += 0.5
        return evidence.accuracy(setting.level, working)


def test_kind_of_side_information_is_one_file() -> None:
    truth, predicted = make_truth(1)
    plan = load_protocol("partitioned")(one_expert_per_class(CLASSES), 1)
    labels = plan.decode(list(SimulatedExperts(truth).answer(plan.route(ITEMS))))
    (columns,), said = align_pool([[Prediction(i, k) for i, k in predicted.items()]], labels)
    models = {"m": columns}
    archive = Archive(models, np.array([truth[name] for name in said.index.ids]))
    made = estimate_models(models, said, [archive])["m"]
    plain, narrow = made["ml"], made["with an archive"]
    assert narrow.high - narrow.low < plain.high - plain.low
    refused = estimate_models(models, said, [archive], published=True)["m"]
    assert refused.undefined["with an archive"] == "the archive is not used together with published"
