"""Runs with no or only some answers do not block other commands, and the commands report them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import ModelSection
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Prediction, PredictionStatus
from tests.cli.colours import CLASSES, write_colours
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

N = 60
Oversight = Callable[..., Any]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> Path:
    """A study whose experts have answered, and which names two models."""
    monkeypatch.chdir(tmp_path)
    write_colours(N)
    write_study("http://127.0.0.1:9/v1")
    oversight("label", "route")
    oversight("label", "simulate", "--key", "key.csv")
    return tmp_path


def write_study(url: str, *others: tuple[str, str]) -> None:
    models = "".join(f'[models.{m}]\nmodel = "{m}"\nendpoint = "{u}"\n' for m, u in (("m", url), *others))
    Path("study.toml").write_text(
        f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n{models}'
    )


def right(prompt: str, n: int) -> Reply:
    return Reply(CLASSES[int(prompt.partition("number ")[2].partition(".")[0]) % 3])


@pytest.mark.parametrize("failed", [0, 3])
def test_a_run_without_answers_is_left_out_and_named(
    failed: int, study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(right) as server:
        write_study(server.url, ("n", server.url))
        oversight("run")
    spec = make_spec("x", ModelSection(model="x"), "$text", None)
    with Store(f"sqlite:///{study / 'study.db'}") as store:
        store.runs.add_run(spec)
        rows = [Prediction(f"i{j}", None, PredictionStatus.FAILED, "timeout: no") for j in range(failed)]
        store.runs.store_predictions([(spec.id, row) for row in rows])
    said = "run 'x' has no answers yet" + (" (3 failed)" if failed else "")
    assert oversight("estimate")["left_out"] == [said]
    assert set(oversight("estimate")["models"]) == {"m", "n"}
    assert oversight("compare")["left_out"] == [said]
    assert oversight("report")["models"] == ["m", "n"]
    assert said in Path("report.html").read_text().replace("&#39;", "'")
    for verb in ("estimate", "compare"):
        assert main([verb]) == 0
        assert said in capsys.readouterr().out
    assert said in oversight("estimate", "--model", "x", code=2)["error"]


def test_a_model_that_cannot_be_asked_leaves_no_run_and_no_trace(study: Path, oversight: Oversight) -> None:
    def refuse(prompt: str, n: int) -> Reply:
        return Reply(status=401, body='{"error": {"message": "revoked"}}')

    with fake_openai(right) as server, fake_openai(refuse) as broken:
        write_study(server.url, ("x", broken.url), ("y", "http://127.0.0.1:9/v1"))
        found = oversight("run", code=1)["models"]
    assert [name for name, result in found.items() if "stopped" in result] == ["x", "y"]
    assert "revoked" in found["x"]["stopped"]
    assert "cannot be reached" in found["y"]["stopped"]
    assert found["m"]["ok"] == N
    assert set(oversight("estimate")["models"]) == {"m"}


def asked_numbers(server: FakeOpenAI) -> list[str]:
    return [prompt.partition("number ")[2].partition(".")[0] for prompt in server.prompts]


def test_full_run_continues_from_a_random_sample(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(right) as server:
        write_study(server.url)
        first = oversight("run", "--sample", "15")["models"]["m"]
        looked_at = asked_numbers(server)
        assert (first["sample"], first["predictions"]) == ({"items": 15, "of": N, "seed": 0}, 15)
        assert looked_at != [str(j) for j in range(15)]
        items = oversight("estimate")["models"]["m"]["items"]
        assert (items["predicted"], items["unpredicted"]) == (15, N - 15)
        assert main(["estimate"]) == 0
        assert "RUN NOT FINISHED, items answered: m 15 of 60." in " ".join(capsys.readouterr().out.split())
        assert main(["run", "--sample", "15"]) == 0
        assert "asked about 15 of 60 items" in capsys.readouterr().out
        assert len(server.prompts) == 15
        oversight("run", "--sample", "25")  # a larger sample includes the first one
        assert len(server.prompts) == 25
        full = oversight("run")["models"]["m"]
        assert full["run"] == first["run"]
        assert sorted(asked_numbers(server)) == sorted(map(str, range(N)))


@pytest.mark.parametrize(("lost", "gone"), [(1, 0), (20, 0), (1, 1)])
def test_items_with_failed_samples_have_fewer_samples(
    lost: int, gone: int, study: Path, oversight: Oversight
) -> None:
    failed = {(j, 2) for j in range(lost)} | {(N - 1, sample) for sample in range(3 * gone)}
    rows = [
        f"i{j},{'' if (j, sample) in failed else CLASSES[j % 3]},{sample},{'lost' * ((j, sample) in failed)}"
        for j in range(N)
        for sample in range(3)
    ]
    Path("three.csv").write_text("\n".join(["id,prediction,sample,error", *rows]) + "\n")
    oversight("predictions", "import", "three.csv", "--model", "three")
    found = oversight("estimate")["models"]["three"]
    few = lost + gone > 0.02 * N
    assert found.get("fewer_samples", 0) == lost * few
    assert found["accuracy"]["holds"] is not few
    oversight("gate", "--model", "three", "--at-least", "0.5", code=3 if few else 0)


def test_a_run_stopped_while_it_added_samples_is_marked_as_unfinished(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(right) as server:
        write_study(server.url, ("n", server.url))
        oversight("run")
        write_study(server.url)
        with Path("study.toml").open("a") as file:
            file.write("samples = 3\n")
        assert oversight("estimate")["models"]["m"]["accuracy"]["holds"]
        oversight("run", "--budget-requests", str(N + 40), code=1)
        found = oversight("estimate")["models"]
        assert found["n"]["accuracy"]["holds"]
        assert found["m"]["fewer_samples"] == N - 20
        assert f"{N - 20} items have fewer samples than others" in found["m"]["accuracy"]["why"]
        (pair,) = oversight("compare")["comparisons"]
        assert "fewer samples than other items" in pair["why"]
        gate = oversight("gate", "--model", "m", "--at-least", "0.1", code=3)
        assert f"{N - 20} items asked about have fewer samples than others" in json.dumps(gate)
        main(["estimate"])
        assert f"RUN NOT FINISHED, items answered: m 20 of {N}." in " ".join(capsys.readouterr().out.split())
        oversight("run")
        assert "fewer_samples" not in oversight("estimate")["models"]["m"]


def test_a_denied_feature_is_tested_again_by_the_next_new_run(
    study: Path, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(prompt: str, n: int) -> Reply:
        text = right(prompt, n).text if "number " in prompt else "yes"
        return Reply(text, logprobs=((text, -0.1),) if n > N else ())

    with fake_openai(reply) as server:
        write_study(server.url)
        with Path("study.toml").open("a") as file:
            file.write('structured = "never"\nlogprobs = true\n')
        assert main(["run"]) == 0
        assert "no confidences: logprobs = true, but" in capsys.readouterr().out
        assert oversight("run")["models"]["m"]["confidences"] is False
        assert len(server.prompts) == 1 + N
        with Path("study.toml").open("a") as file:
            file.write("temperature = 0.5\n")
        assert "confidences" not in oversight("run")["models"]["m"]
        assert len(server.prompts) == 2 * (1 + N)


def test_a_sample_is_at_least_one_item(study: Path, oversight: Oversight) -> None:
    assert "--sample: give a number of items" in oversight("run", "--sample", "0", code=2)["error"]
