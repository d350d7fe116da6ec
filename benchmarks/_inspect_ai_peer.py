"""Send requests through inspect-ai, in a separate environment (see `_peers`)."""

from __future__ import annotations

import os
import sys
import tempfile


def main(url: str, n: int, concurrency: int) -> None:
    os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    from inspect_ai import Task, eval  # noqa: A004  its name
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.solver import generate

    samples = [Sample(input=f"question number {j} of many?", target="B") for j in range(n)]
    with tempfile.TemporaryDirectory() as folder:
        eval(
            Task(dataset=MemoryDataset(samples), solver=generate()),
            model="openai/bench",
            model_args={"responses_api": False},
            max_connections=concurrency,
            max_samples=concurrency,
            log_dir=folder,
            display="none",
        )
    print(f'{{"asked": {n}}}')


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
