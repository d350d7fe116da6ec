"""Placement of workers on a Ray cluster: the options, and errors reported before anything starts."""

from __future__ import annotations

import argparse

import pytest

from oversight.harness.cluster import RayWorkers, add_placement, read_placement
from oversight.harness.cluster.ray_workers import Placement
from oversight.harness.config import ModelSection
from oversight.harness.errors import ConfigError


def read(*words: str) -> Placement | None:
    parser = argparse.ArgumentParser()
    add_placement(parser)
    return read_placement(parser.parse_args(words))


def test_placement_options_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert read() is None
    assert read("--on", "ray") == Placement(resources={"CPU": 1})
    words = ("--workers", "3, GPU=1, tpu=0.5", "--serve", "vllm serve 'a b' --port 8")
    assert read("--on", "ray", *words) == Placement(
        workers=3, resources={"GPU": 1, "tpu": 0.5}, serve=("vllm", "serve", "a b", "--port", "8")
    )
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    assert read("--on", "ray") == Placement(address="auto", resources={"CPU": 1})


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--workers", "2"], "--workers needs --on"),
        (["--on", "ray", "--workers", "0"], "give a number ≥ 1 .*, not '0'"),
        (["--on", "ray", "--workers", "GPU"], "NAME=N"),
        (["--on", "ray", "--workers", "2,3"], "NAME=N"),
        (["--on", "ray", "--workers", "CPU=nan"], "NAME=N"),
        (["--on", "ray", "--workers", "CPU=-1"], "NAME=N"),
        (["--on", "ray", "--serve", ""], "give a command"),
        (["--on", "ray", "--serve", "'open"], "No closing quotation"),
        (["--on", "ray://127.0.0.1:10001"], "on a node of the cluster"),
        (["--on", "127.0.0.1:1"], "no cluster answers at '127.0.0.1:1'"),
        (["--on", "nonsense"], "no cluster answers at 'nonsense'"),
    ],
)
def test_contradicting_placement_options_are_refused(words: list[str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        read(*words)


def test_a_server_on_every_node_needs_an_endpoint_there() -> None:
    placement = Placement(resources={"CPU": 1}, serve=("vllm",))
    with pytest.raises(ConfigError, match="no model has an endpoint on the node itself"):
        RayWorkers(placement, [ModelSection(model="m", endpoint="https://api.example.org/v1")])
    RayWorkers(placement, [ModelSection(model="m", endpoint="http://127.0.0.1:8000/v1")])
