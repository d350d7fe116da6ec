"""The running estimate with questions that experts put off, and put off because of the answer."""

from __future__ import annotations

import numpy as np
import pytest

from harness.columns import ItemIndex, LabelColumns, PredictionColumns
from harness.estimate import accuracy, decode, fill_open
from harness.store import QueuedTask
from harness.types import Answer, Prediction, Question, Verdict
from protocols.collect.progress import balance_queues


@pytest.mark.statistical
@pytest.mark.parametrize("accuracy_true", [0.5, 0.8, 0.98])
def test_what_is_put_off_for_its_answer_does_not_bend_the_interval(accuracy_true: float) -> None:
    """Experts put off a twentieth of their questions, all of them such as speak against the model."""
    rng, covered, plain, runs, n = np.random.default_rng(8), 0, 0, 120, 400
    for _ in range(runs):
        truth = rng.integers(4, size=n)
        predicted = np.where(rng.random(n) < accuracy_true, truth, (truth + 1) % 4)
        option = rng.integers(4, size=n)
        questions = [
            Question(f"q{j}", f"i{j}", int(option[j]), f"e{option[j]}", 4, "partitioned", 1 / 4, 0)
            for j in range(n)
        ]
        against = (option == predicted) != (truth == option)
        queues = {k: [j for j in range(n) if option[j] == k] for k in range(4)}
        off = {
            j for queue in queues.values() for j in [i for i in queue[:-8] if against[i]][: len(queue) // 25]
        }
        tasks = [QueuedTask(f"q{j}", f"e{k}", at, "") for k, q in queues.items() for at, j in enumerate(q)]
        part = balance_queues(tasks, {f"q{j}" for j in range(n) if j not in off})
        assert part.share == 1.0
        assert sum(map(len, part.passed.values())) == len(off)
        verdicts = [Verdict.YES if truth[j] == option[j] else Verdict.NO for j in range(n)]
        answers = [Answer(questions[j], f"e{option[j]}", verdicts[j], "t") for j in range(n) if j not in off]
        index = ItemIndex.of([f"i{j}" for j in range(n)])
        labels = LabelColumns.of(decode(answers, questions), index)
        predictions = PredictionColumns.of([Prediction(f"i{j}", int(predicted[j])) for j in range(n)], index)
        worst, best = (
            accuracy(predictions, fill_open(labels, predictions, favourable=f), interval="anytime")
            for f in (False, True)
        )
        real = float(np.mean(predicted == truth))
        covered += worst.low <= real <= best.high
        middle = accuracy(predictions, LabelColumns.of(decode(answers), index), interval="anytime")
        plain += middle.low <= real <= middle.high
    assert covered >= 0.95 * runs
    assert covered >= plain
