"""Groups of items have what was asked, said and predicted of them, as if there were no others."""

from __future__ import annotations

import numpy as np

from oversight.harness.columns import ItemIndex, ItemValues, LabelColumns, PredictionColumns, split_items
from oversight.harness.estimate import decode
from oversight.harness.types import Answer, Item, Prediction, Verdict
from oversight.protocols.routing import Partitioned, one_expert_per_class

CLASSES = ("a", "b", "c")
ITEMS = [Item(f"i{j}", "text", CLASSES, (0, 1, 2)) for j in range(40)]
WARD = {f"i{j}": f"ward {j % 3}" for j in range(40) if j % 7}


def test_a_group_is_a_study_of_its_own() -> None:
    index = ItemIndex.of([item.id for item in ITEMS])
    questions = Partitioned(one_expert_per_class(CLASSES), seed=2).route(ITEMS)
    said = [
        Answer(q, q.expert, Verdict.YES if j % 3 else Verdict.NO, "test")
        for j, q in enumerate(questions)
        if j % 4
    ]
    patients = {item.id: f"patient {j // 4}" for j, item in enumerate(ITEMS)}
    labels = LabelColumns.of(decode(said, questions).clustered(patients), index)
    told = [Prediction(item.id, j % 3, confidence=j / 50) for j, item in enumerate(ITEMS) if j % 5]
    predictions = PredictionColumns.of(told, index)
    found = list(split_items(ItemValues.of(WARD, index), labels))
    assert [group.name for group in found] == ["ward 0", "ward 1", "ward 2"]
    for group in found:
        ward, of_group, labels_of_group = group.name, group.take(predictions), group.labels
        ids = [item.id for item in ITEMS if WARD.get(item.id) == ward]
        own = ItemIndex.of(ids)
        here = [q for q in questions if q.item_id in ids]
        heard = [a for a in said if a.question in here]
        expected = LabelColumns.of(decode(heard, here), own)
        assert list(of_group.index.ids) == ids
        assert of_group.index is labels_of_group.index
        alone = PredictionColumns.of([p for p in told if p.item_id in ids], own)
        assert of_group.option.tolist() == alone.option.tolist()
        np.testing.assert_array_equal(of_group.confidence, alone.confidence)
        assert labels_of_group.item.tolist() == expected.item.tolist()
        assert labels_of_group.kind.tolist() == expected.kind.tolist()
        assert labels_of_group.asked.tolist() == expected.asked.tolist()
        assert labels_of_group.drawn is not None
        assert expected.drawn is not None
        assert sorted(labels_of_group.drawn.key.tolist()) == sorted(expected.drawn.key.tolist())
        assert sorted(labels_of_group.answers.tolist()) == sorted(expected.answers.tolist())
        assert labels_of_group.cluster is not None
        assert labels_of_group.cluster.by_id(own) == {name: patients[name] for name in ids}
