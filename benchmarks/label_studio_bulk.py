"""A campaign of 20,000 questions on a real Label Studio server, beside a raw export of the same project.

One expert has them all. Pushed; pulled while nothing is answered; then every task is replaced by one that
brings an annotation, as to give 20,000 answers through the API takes the server 45 minutes, and all of it is
read: raw, by the server's own export of the project, and by a full pull. What is imported has no editor, so
that the pull keeps it all in quarantine, which is more to write than answers are.

``--quick`` takes 2,000. The last line is one JSON object; memory is this process's peak.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.protocols.collect import Campaign, LabelStudioServer, start_server, stop_server
from oversight.protocols.study_labels import route_questions

WORDS = 150
PORTION = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    number = 2_000 if parser.parse_args().quick else 20_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            running = start_server(folder=folder / "server")
            os.environ["LABEL_STUDIO_URL"], os.environ["LABEL_STUDIO_API_KEY"] = running.url, running.token
            found = measure(folder, running, number)
        finally:
            stop_server(folder=folder / "server")
    print(f"{number} questions; seconds")
    for what, value in found.items():
        print(f"  {what:<24} {value:10.2f}")
    found["full_vs_export"] = found["full pull"] / found["raw export"]
    found["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"questions": number, **{key: round(value, 2) for key, value in found.items()}}))


def measure(folder: Path, running: LabelStudioServer, number: int) -> dict[str, float]:
    (folder / "study.toml").write_text(
        '[study]\nname = "bulk"\n[items]\nfile = "items.csv"\nclasses = ["a", "b"]\n'
    )
    lines = (f"i{j},text {j} {'word ' * WORDS}\n" for j in range(number))
    (folder / "items.csv").write_text("id,text\n" + "".join(lines))
    (folder / "experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n')
    study = read_study(folder / "study.toml")
    route_questions(study)
    with Store(study.store_url) as store, Campaign(study, store, timeout=600) as desk:
        desk.open_client("ana").check_token()  # its imports are paid before the clock starts
        found = {"push": seconds(desk.push), "first pull of nothing": seconds(desk.pull)}
        project = store.labelling.read_queues()["ana"].project_id
        header = {"Authorization": f"Token {running.token}"}
        with httpx.Client(base_url=running.url, headers=header, timeout=900, trust_env=False) as http:
            answer(http, store, project or 0)
            path = f"/api/projects/{project}/export?exportType=JSON"
            found["raw export"] = seconds(lambda: take(http, path, number))
        found["full pull"] = seconds(lambda: desk.pull(full=True, requeue=False))
        assert len(store.labelling.read_quarantine()) == number, "an annotation is missing"
    return found


def answer(http: httpx.Client, store: Store, project: int) -> None:
    """Replace every task by one that has an annotation."""
    said = {"from_name": "verdict", "to_name": "item", "type": "choices", "value": {"choices": ["no"]}}
    annotation = {"result": [said], "lead_time": 3.0}
    data: dict[str, Any] = {}
    for page in range(1, 1 + -(-len(store.labelling.read_tasks()) // PORTION)):
        where: dict[str, str | int] = {
            "project": project,
            "include": "id,data",
            "page": page,
            "page_size": PORTION,
        }
        for task in http.get("/api/tasks/", params=where).json()["tasks"]:
            data[task["data"]["question_id"]] = task["data"]
    http.delete(f"/api/projects/{project}/tasks/").raise_for_status()
    names = list(data)
    for start in range(0, len(names), PORTION):
        part = names[start : start + PORTION]
        body = [{"data": data[name], "annotations": [annotation]} for name in part]
        reply = http.post(f"/api/projects/{project}/import?return_task_ids=true", json=body)
        reply.raise_for_status()
        store.labelling.set_task_ids(dict(zip(part, reply.json()["task_ids"], strict=True)))


def take(http: httpx.Client, path: str, number: int) -> None:
    """Read an export to its end; of it nothing is parsed."""
    read = 0
    with http.stream("GET", path) as reply:
        for part in reply.iter_raw():
            read += part.count(b'"question_id"')
    assert read >= number * 0.99, f"{read} tasks in the export"  # a name may be cut between two parts


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
