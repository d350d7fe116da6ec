"""Runs of HELM: ``scenario_state.json`` in a run's folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.datasets.logs.json_path import load_json, need
from harness.errors import DataError
from harness.types import ForeignAnswer


def read_helm(path: Path) -> Iterator[ForeignAnswer]:
    """Read the requests of a run; trials become samples of the same item.

    ``output_mapping`` says which option a letter stands for; without one the references do, in order.

    Raises
    ------
    DataError
        If it is no such file, or the options were scored one by one (``request_mode`` "original" or
        "calibration"), where no request holds the answer.
    """
    states = need(load_json(path.read_bytes(), path), "request_states", list, path, 1)
    for number, state in enumerate(states, start=1):
        if state.get("request_mode"):
            raise DataError(
                "each option was scored in a request of its own; only joint multiple choice and "
                "generation can be read",
                file=path,
                line=number,
                field="request_mode",
            )
        result = need(state, "result", dict, path, number)
        completions = result.get("completions") or [{}]
        mapping = state.get("output_mapping")
        references = state["instance"].get("references") or ()
        options = mapping.values() if mapping else (r["output"]["text"] for r in references)
        finish = completions[0].get("finish_reason") or {}
        yield ForeignAnswer(
            line=number,
            id=str(need(state, "instance.id", str, path, number)),
            text=need(state, "instance.input.text", str, path, number),
            options=tuple(map(str, options)),
            raw=str(completions[0].get("text") or ""),
            error="" if result.get("success", True) else str(result.get("error") or "failed"),
            cut=finish.get("reason") == "length" and bool(completions[0].get("text")) and not mapping,
            sample=int(state.get("train_trial_index") or 0),
            seconds=float(result.get("request_time") or 0.0),
        )
