"""Runs of HELM in all their forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import DataError
from oversight.harness.types import ForeignAnswer
from tests.datasets.foreign_answers import read_foreign

Oversight = Callable[..., Any]
METALS = ("gold", "tin", "iron")


def state(mapping: Mapping[str, str] | None, said: str, **fields: Any) -> dict[str, Any]:
    """A request and its result; fields of the instance may be given."""
    texts = list(mapping.values()) if mapping else list(METALS)
    references = [{"output": {"text": t}, "tags": ["correct"] if not j else []} for j, t in enumerate(texts)]
    instance = {"input": {"text": "Which rusts?"}, "references": references, "id": "id1", **fields}
    return {
        "instance": instance,
        "train_trial_index": 0,
        "request": {},
        **({"output_mapping": dict(mapping)} if mapping else {}),
        "result": {"success": True, "completions": [{"text": said}], "request_time": 0.1},
    }


def read(tmp_path: Path, *states: object) -> list[ForeignAnswer]:
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps({"request_states": states}))
    return read_foreign(path, "helm")


@pytest.fixture
def import_states(
    oversight: Oversight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[dict[str, Any]]]:
    """Make a study of a run's own items, import it, and return the exported rows."""

    def do(*states: object) -> list[dict[str, Any]]:
        monkeypatch.chdir(tmp_path)
        Path("scenario_state.json").write_text(json.dumps({"request_states": states}))
        oversight("predictions", "items", "scenario_state.json")
        oversight("init", "--items", "items.jsonl")
        oversight("predictions", "import", "scenario_state.json", "--model", "m")
        oversight("predictions", "export", "out.jsonl")
        return [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]

    return do


DIGITS = dict(zip("123", METALS, strict=True))
NUMBERS = {"1": "3", "2": "1", "3": "2"}
LETTERS = {"A": "B", "B": "C", "C": "A"}


@pytest.mark.parametrize(
    ("mapping", "said", "option"),
    [
        (DIGITS, "2", "tin"),
        (DIGITS, " (2)", "tin"),
        (DIGITS, "2. tin", "tin"),
        (DIGITS, "2\nBecause …", "tin"),
        (DIGITS, "The answer is 3.", "iron"),
        (DIGITS, "It must be iron", "iron"),
        (DIGITS, "tin", "tin"),
        (DIGITS, "B", None),
        (DIGITS, "4", None),
        (DIGITS, "2 or 3", None),
        (NUMBERS, "3", "2"),
        (NUMBERS, "1.", "3"),
        (NUMBERS, "The answer is 2", "1"),
        (NUMBERS, "5", None),
        (NUMBERS, "2 and 3", None),
        (NUMBERS, "", None),
        (LETTERS, "A", "B"),
        (LETTERS, " C.", "A"),
        (LETTERS, "(b)", "C"),
        (LETTERS, "The answer is B.", "C"),
        (LETTERS, "A and C", None),
        (dict(zip("abc", METALS, strict=True)), "b", "tin"),
        (dict(zip("abc", METALS, strict=True)), "B)", "tin"),
        (dict(zip(("(A)", "(B)", "(C)"), METALS, strict=True)), "(C)", "iron"),
        (dict(zip(("(A)", "(B)", "(C)"), METALS, strict=True)), "C", "iron"),
        (dict(zip((" A", " B", " C"), METALS, strict=True)), "B", "tin"),
        (dict(zip(("1.", "2.", "3."), METALS, strict=True)), "2", "tin"),
        (dict(zip("012", METALS, strict=True)), "0", "gold"),
        (dict(zip("FGH", METALS, strict=True)), "G", "tin"),
        (dict(zip("FGH", METALS, strict=True)), "B", None),
        ({"B": "tin", "A": "gold", "C": "iron"}, "A", "gold"),
        ({"B": "tin", "A": "gold", "C": "iron"}, "The answer is B.", "tin"),
        ({"Yes": "it does", "No": "it does not"}, "No", "it does not"),
        (dict(zip("ABC", METALS, strict=True)), "I think so.\nThe answer is (C).", "iron"),
    ],
)
def test_key_denotes_its_option(
    mapping: Mapping[str, str], said: str, option: str | None, import_states: Callable[..., Any]
) -> None:
    (row,) = import_states(state(mapping, said))
    assert (row["option_text"], row["status"]) == (option, "ok" if option else "unreadable")


def test_perturbed_copies_and_further_completions_are_left_out_and_counted(
    oversight: Oversight, import_states: Callable[..., Any]
) -> None:
    copy = state(DIGITS, "3", perturbation={"name": "robustness", "robustness": True})
    two = state(DIGITS, "2", id="id2")
    two["result"]["completions"].append({"text": "1"})
    rows = import_states(state(DIGITS, "1"), copy, copy, two)
    assert [(row["item_id"], row["option_text"]) for row in rows] == [("id1", "gold"), ("id2", "tin")]
    done = oversight("predictions", "import", "scenario_state.json", "--model", "m")
    assert done["left_out"] == {"perturbed copy": 2, "further completion of a request": 1}


def test_run_with_only_perturbed_copies_is_refused(tmp_path: Path) -> None:
    copy = state(DIGITS, "3", perturbation={"name": "typos"})
    with pytest.raises(DataError, match="the log contains no answers; left out: 2 × perturbed copy"):
        read(tmp_path, copy, copy)


def test_trials_become_samples_of_one_item(import_states: Callable[..., Any]) -> None:
    rows = import_states(*({**state(DIGITS, said), "train_trial_index": j} for j, said in enumerate("221")))
    assert [(row["sample"], row["option_text"]) for row in rows] == [(0, "tin"), (1, "tin"), (2, "gold")]


def test_references_are_options_unless_all_are_right(tmp_path: Path) -> None:
    right = [{"output": {"text": text}, "tags": ["correct"]} for text in ("iron", "Fe")]
    choice, free = read(tmp_path, state(None, "tin"), state(None, "Fe", id="id2", references=right))
    assert (choice.options, free.options) == (METALS, ())


def test_messages_take_the_place_of_an_empty_text(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which rusts?"}]
    (answer,) = read(tmp_path, state(DIGITS, "3", input={"text": "", "messages": messages}))
    assert answer.text == "Which rusts?"


def score(j: int, mode: str, *tokens: tuple[str, float], **fields: Any) -> dict[str, Any]:
    """The request that scores one option, with the tokens of the prompt and the option."""
    made = state(None, "", **fields)
    shown = [{"text": text, "logprob": number} for text, number in (("Which", -9.0), ("?", -9.0), *tokens)]
    made["result"]["completions"] = [{"text": "…", "tokens": shown}]
    return {**made, "reference_index": j, "request_mode": mode}


ORIGINAL = (
    score(0, "original", (" gold", -3.0)),
    score(1, "original", (" t", -3.0), ("in", -2.0)),
    score(2, "original", (" i", -2.0), ("r", -2.0), ("on", -2.5)),
)


@pytest.mark.parametrize(
    ("states", "place"),
    [
        (ORIGINAL, 2),  # means of -3, -2.5, -2.2
        ((*ORIGINAL, score(0, "original", (" x", 0.0), perturbation={"name": "typos"})), 2),
        (
            (
                *ORIGINAL,
                score(0, "calibration", (" gold", -1.0)),
                score(1, "calibration", (" t", -2.0), ("in", -9.0)),
                score(2, "calibration", (" iron", -3.0)),
            ),
            1,  # -3 + 1, -5 + 11, -6.5 + 3
        ),
    ],
    ids=("original", "with a copy", "calibrated"),
)
def test_options_scored_one_by_one_are_compared_by_their_tokens(
    states: tuple[dict[str, Any], ...], place: int, tmp_path: Path
) -> None:
    (answer,) = read(tmp_path, *states)
    assert (answer.options, answer.answer) == (METALS, place)


def test_an_option_whose_request_failed_fails_the_answer(tmp_path: Path) -> None:
    failed = {**ORIGINAL[1], "result": {"success": False, "error": "no server", "completions": []}}
    (answer,) = read(tmp_path, ORIGINAL[0], failed, ORIGINAL[2])
    assert (answer.error, answer.answer) == ("the request of an option failed", None)


@pytest.mark.parametrize("states", [ORIGINAL[:2], (*ORIGINAL, score(2, "calibration", (" iron", -9.0)))])
def test_run_without_the_request_of_an_option_is_refused(
    states: tuple[dict[str, Any], ...], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="every option needs its request"):
        read(tmp_path, *states)


def test_log_that_lists_an_option_twice_is_refused(
    oversight: Oversight, import_states: Callable[..., Any]
) -> None:
    import_states(state(DIGITS, "1"))
    twice = state({**DIGITS, "3": "tin"}, "1")
    Path("scenario_state.json").write_text(json.dumps({"request_states": [twice]}))
    told = oversight("predictions", "import", "scenario_state.json", "--model", "n", code=2)
    assert "'tin' occurs twice in the log's options of the item 'id1'" in told["error"]


def test_scores_of_other_things_than_options_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps({"adapter_spec": {"method": "ranking_binary"}, "request_states": ORIGINAL}))
    with pytest.raises(DataError, match=r"adapter_spec\.method\]: runs by ranking_binary cannot be read"):
        read_foreign(path, "helm")


def test_options_whose_tokens_are_not_there_need_the_statistics_of_the_run(tmp_path: Path) -> None:
    states = [score(j, mode) for j in range(3) for mode in ("original", "calibration")]
    with pytest.raises(DataError, match=r"the tokens do not spell .* put the run's per_instance_stats\.json"):
        read(tmp_path, *states)
    stats = {"name": {"name": "predicted_index", "split": "test"}, "count": 1, "mean": 2.0}
    other = {"name": {"name": "exact_match"}, "mean": 0.0}
    records = [
        {
            "instance_id": "id1",
            "train_trial_index": 0,
            "perturbation": {"name": "typos"},
            "stats": [{**stats, "mean": 0}],
        },
        {"instance_id": "id1", "train_trial_index": 0, "stats": [other, stats]},
    ]
    (tmp_path / "per_instance_stats.json").write_text(json.dumps(records))
    (answer,) = read(tmp_path, *states)
    assert (answer.id, answer.options, answer.answer) == ("id1", METALS, 2)
    (tmp_path / "per_instance_stats.json").write_text(json.dumps(records[:1]))
    with pytest.raises(DataError, match="as predicted_index of 'id1' in trial 0"):
        read(tmp_path, *states)


def test_another_file_of_a_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run_spec.json"
    path.write_text('{"name": "mmlu"}')
    with pytest.raises(
        DataError, match=r"request_states\]: must be list: .* give the run's scenario_state\.json"
    ):
        read_foreign(path, "helm")
