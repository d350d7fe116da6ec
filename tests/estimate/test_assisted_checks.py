"""An estimate with votes is held against the same checks as the other estimates of its model."""

from __future__ import annotations

import numpy as np

import oversight as ov
from oversight.harness.columns import align_pool
from oversight.harness.estimate import Votes, decode, estimate_models
from oversight.harness.estimate.side_information import MODEL_ASSISTED
from oversight.harness.types import Answer, Item, Prediction, Verdict
from oversight.protocols.routing import Partitioned, one_expert_per_class

CLASSES = ("a", "b", "c", "d")
N = 400


def test_an_expert_who_says_no_to_everything_voids_the_estimate_with_votes() -> None:
    rng = np.random.default_rng(1)
    items = [Item(f"i{j}", f"text {j}", CLASSES, (0, 1, 2, 3)) for j in range(N)]
    truth = {item.id: int(k) for item, k in zip(items, rng.integers(4, size=N), strict=True)}
    questions = list(Partitioned(one_expert_per_class(CLASSES), 1).route(items))
    silent = questions[0].expert
    answers = [
        Answer(q, q.expert, Verdict.YES if said and q.expert != silent else Verdict.NO, "test")
        for q in questions
        for said in [truth[q.item_id] == q.option]
    ]
    models: dict[str, list[Prediction]] = {
        f"m{share}": [
            Prediction(name, k if rng.random() < share else (k + int(rng.integers(1, 4))) % 4)
            for name, k in truth.items()
        ]
        for share in (0.9, 0.7)
    }
    labels: ov.Labels = decode(answers, questions)
    columns, said = align_pool([*models.values()], labels)
    by_name = dict(zip(models, columns, strict=True))
    for made in estimate_models(by_name, said, [Votes(by_name)]).values():
        assert "check 'yes_rate_by_expert' failed" in made[MODEL_ASSISTED].why
