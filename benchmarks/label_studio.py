"""Push and pull of a real campaign on a real Label Studio server, beside the SDK's plain way.

2,888 abstracts (Medical Abstracts, the test split) to five experts, a question each: pushed, answered through
the API, pulled whole, pulled again without changes. Then every abstract pushed to each of the five, a panel.
The plain way is what the SDK's examples show: one call a task out (timed on 40 of them), and the whole list
of tasks back, changed or not.

``--quick`` takes 300 items; in full, answering alone takes minutes. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from oversight.harness.analysis import study_items
from oversight.harness.config import Study, read_study
from oversight.harness.store import Store
from oversight.protocols.collect import (
    OVERLAP,
    Campaign,
    Connection,
    LabelStudioServer,
    Transport,
    make_verdict_page,
    start_server,
    stop_server,
)
from oversight.protocols.routing import Partitioned, panel_rule_of, read_roster

CLASSES = ["neoplasms", "digestive", "nervous", "cardiovascular", "general"]
PLAIN_TASKS = 40
ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    texts = abstracts()[: 300 if quick else None]
    with tempfile.TemporaryDirectory() as name, server(Path(name)) as running:
        os.environ["LABEL_STUDIO_URL"], os.environ["LABEL_STUDIO_API_KEY"] = running.url, running.token
        found = measure(Path(name), texts, running)
    print(f"{len(texts)} items, 5 experts; seconds")
    for what, (ours, plain) in found.items():
        ratio = "" if plain is None else f"   the SDK's plain way {plain:8.2f}   {plain / ours:6.1f} ×"
        print(f"  {what:<32} {ours:8.2f}{ratio}")
    print(json.dumps({"items": len(texts), **{k: {"seconds": o, "plain": p} for k, (o, p) in found.items()}}))


def measure(
    folder: Path, texts: list[str], running: LabelStudioServer
) -> dict[str, tuple[float, float | None]]:
    found: dict[str, tuple[float, float | None]] = {}
    desk, store = study(folder, texts)
    with store, desk:
        sdk = Transport(Connection(running.url, running.token))
        sdk.read("users.whoami")  # its import is paid before the clock starts
        desk.open_client("expert-0").check_token()
        by_call = plain_push(sdk, texts)
        found["push"] = (seconds(desk.push), by_call)
        found["push of 0 changes"] = (seconds(desk.push), None)
        answer(sdk, store, running)
        took = seconds(lambda: desk.pull(full=True))
        assert len(store.content.read_answers()) == len(texts), "an answer is missing"
        whole = plain_pull(sdk, store)
        found["full pull"] = (took, whole)
        time.sleep(OVERLAP.total_seconds() + 1)  # until nothing is read twice any more
        desk.pull()
        found["pull of 0 changes"] = (min(seconds(desk.pull) for _ in range(5)), whole)
        sdk.close()
    desk, store = panel(folder, desk.study)
    with store, desk:
        found["push to a panel of 5"] = (seconds(desk.push), 5 * by_call)
    return found


def seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@contextlib.contextmanager
def server(folder: Path) -> Iterator[LabelStudioServer]:
    try:
        yield start_server(folder=folder / "server")
    finally:
        stop_server(folder=folder / "server")


def abstracts() -> list[str]:
    folder = Path(os.environ.get("OVERSIGHT_DATASETS", ROOT.parent / "shared" / "datasets"))
    path = folder / "medical_abstracts_test.csv.gz"
    if not path.exists():
        print(f"{path} is not there: made-up texts of the same length instead")
        return [f"abstract {j}. " + "word " * 200 for j in range(2888)]
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [row["medical_abstract"] for row in csv.DictReader(stream)]


def study(folder: Path, texts: list[str]) -> tuple[Campaign, Store]:
    (folder / "study.toml").write_text(
        f'[study]\nname = "bench"\n[items]\nfile = "items.jsonl"\nclasses = {json.dumps(CLASSES)}\n'
    )
    (folder / "items.jsonl").write_text(
        "".join(json.dumps({"id": f"i{j}", "text": text}) + "\n" for j, text in enumerate(texts))
    )
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "expert-{j}"\nclasses = ["{c}"]\n' for j, c in enumerate(CLASSES))
    )
    found = read_study(folder / "study.toml")
    store = Store(found.store_url)
    items = study_items(found)
    store.content.add_items(items)
    store.content.add_questions(Partitioned(read_roster(folder / "experts.toml"), 1).route(items))
    return Campaign(found, store), store


def panel(folder: Path, like: Study) -> tuple[Campaign, Store]:
    """The same items, every one to each of the five."""
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "expert-{j}"\nclasses = ["*"]\n' for j in range(len(CLASSES)))
    )
    experts = like.experts.model_copy(update={"protocol": "panel", "annotators_per_item": len(CLASSES)})
    section = like.study.model_copy(update={"name": "panel", "store": "panel.db"})
    found = like.model_copy(update={"experts": experts, "study": section})
    store, items = Store(found.store_url), study_items(found)
    store.content.add_items(items)
    roster = read_roster(folder / "experts.toml")
    store.panel.add_assignments(panel_rule_of(found, roster).route(items))
    return Campaign(found, store), store


def answer(sdk: Transport, store: Store, running: LabelStudioServer) -> None:
    """Answer everything; the admin stands for every expert, so that one account will do."""
    campaign = store.labelling
    me = sdk.read("users.whoami").id
    for queue in campaign.read_queues().values():
        campaign.save_queue(replace(queue, user_id=me))
    verdict = {"from_name": "verdict", "to_name": "item", "type": "choices", "value": {"choices": ["no"]}}
    header = {"Authorization": f"Token {running.token}"}
    with httpx.Client(base_url=running.url, headers=header, timeout=60, trust_env=False) as http:
        for task in campaign.read_tasks():
            body = {"result": [verdict], "lead_time": 3.0}
            http.post(f"/api/tasks/{task.task_id}/annotations/", json=body).raise_for_status()


def plain_push(sdk: Transport, texts: list[str]) -> float:
    """One call a task, timed on a few."""
    page = make_verdict_page()
    project = sdk.write("projects.create", title="plain", label_config=page).id
    few = texts[:PLAIN_TASKS]

    def push() -> None:
        for text in few:
            sdk.write("tasks.create", project=project, data={"text": text, "question": "?"})

    return seconds(push) / len(few) * len(texts)


def plain_pull(sdk: Transport, store: Store) -> float:
    """Every task of every project, in pages of the default size."""
    projects = [queue.project_id for queue in store.labelling.read_queues().values()]

    def pull() -> None:
        for project in projects:
            assert list(sdk.write("tasks.list", project=project, fields="all"))

    return seconds(pull)


if __name__ == "__main__":
    main()
