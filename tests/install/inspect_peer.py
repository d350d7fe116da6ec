"""Do the steps of an inspect-ai user and print JSON; needs inspect-ai and the wheel installed.

run ITEMS FOLDER EPOCHS       evaluates a model that says what ITEMS has; prints the log's path
read LOG                      prints the metrics of a scored log and its samples' values
"""

from __future__ import annotations

import json
import sys


def run(items: str, folder: str, epochs: str) -> None:
    from inspect_ai import Epochs, Task, eval  # noqa: A004  its name
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import Generate, TaskState, solver

    @solver
    def say():  # type: ignore[no-untyped-def]
        async def answer(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("mockllm/model", state.metadata["says"])
            return state

        return answer

    with open(items, encoding="utf-8") as stream:  # noqa: PTH123  plain Python
        rows = json.load(stream)
    samples = [Sample(id=row["id"], input=row["text"], metadata={"says": row["says"]}) for row in rows]
    task = Task(dataset=MemoryDataset(samples), solver=say(), epochs=Epochs(int(epochs), "mean"))
    (log,) = eval(task, model="mockllm/model", log_dir=folder, display="none")
    print(json.dumps({"log": log.location}))  # noqa: T201


def read(path: str) -> None:
    from inspect_ai.log import read_eval_log

    log = read_eval_log(path)
    scores = log.results.scores if log.results else []
    found = {
        "scored": [score.scored_samples for score in scores],
        "metrics": {name: metric.value for score in scores for name, metric in score.metrics.items()},
        "values": {
            str(sample.id): [score.value for score in (sample.scores or {}).values()]
            for sample in log.samples or []
        },
    }
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
