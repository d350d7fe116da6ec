"""Joining runs that others have begun: all that is needed stands in the database, but for the keys."""

from __future__ import annotations

import json
from typing import Any

from oversight.harness.config import ModelSection, RunSpec
from oversight.harness.errors import StoreError
from oversight.harness.llm.asking.joint_run import Opening, work_on
from oversight.harness.llm.limits import Price
from oversight.harness.llm.runner import RunResult, Target, Wanted, refuse_without_keys
from oversight.harness.output import say
from oversight.harness.store import JointRun, Store


def join_runs(store: Store, known: set[str], only: str | None = None) -> list[RunResult]:
    """Work on every joint run that is open, one after the other, and on those that begin meanwhile.

    Those whose ids are `known` are passed over, and all that are joined become known. With `only`, so are all
    but this one.

    Models that are programs are left to those who have them: their names and their code are the study's.

    Raises
    ------
    ConfigError
        If a key is missing.
    StoreError
        If a run was begun by another version that describes it otherwise.
    Stopped
        At a signal.
    """
    results = list[RunResult]()
    while joint := next(
        (j for j in store.joint_runs.find_open() if j.id not in known and only in (None, j.id)), None
    ):
        known.add(joint.id)
        targets = _read_targets(store, joint)
        if targets:
            refuse_without_keys(targets)
            wanted = Wanted(store, store.joint_runs.find_ids(joint.spec.items), joint.spec.retry_failed)
            for target in targets:
                target.refuse_waiting(store)
            worker = store.joint_runs.enter(joint.id, joint.spec.lease)
            if worker is not None:
                results += work_on(Opening(joint=joint, wanted=wanted, worker=worker), targets)
    return results


def _read_targets(store: Store, joint: JointRun) -> list[Target]:
    """The models of a joint run that can be asked from anywhere."""
    specs = {run["id"]: run["spec"] for run in store.runs.read_runs()}
    targets = []
    for run_id, noted in joint.spec.runs.items():
        target = _read_target(specs[run_id], noted)
        if target.spec.id != run_id:
            raise StoreError(
                f"{noted['name']}: the run was begun by another version of oversight; use that one"
            )
        if noted["callable"] or target.is_program:
            say(f"{noted['name']}: is a program; join it with the study's own: oversight run")
        else:
            targets.append(target)
    return targets


def _read_target(spec: Any, noted: Any) -> Target:
    """A target as it was noted; JSON knows no tuples, so what is read strictly is read as JSON."""
    price = None if noted["price"] is None else Price(**noted["price"])
    settings = ModelSection.model_validate_json(json.dumps(noted["settings"]))
    return Target(RunSpec.model_validate_json(json.dumps(spec)), settings, price)
