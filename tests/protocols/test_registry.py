"""A protocol is one file and one line: everything else asks its statement."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from oversight.harness import load_protocol, name_protocol
from oversight.harness.config import Study
from oversight.harness.estimate.checks import CHECKS
from oversight.harness.registry import PROTOCOLS, state_protocol
from oversight.harness.types import Item, ProtocolStatement, Question, question_id
from oversight.protocols.routing import Roster


@dataclass(frozen=True, slots=True)
class FirstOption:
    """Asks for certain about the option that comes first: useless, but a protocol."""

    roster: Roster
    seed: int
    name: str = "first-option"
    statement: ClassVar = ProtocolStatement(
        estimator="weighted",
        assumptions=("the first option is as good as any",),
        needs=frozenset({"roster"}),
        answers=frozenset({"accuracy"}),
    )

    @classmethod
    def from_study(cls, study: Study, roster: Roster, _predictions: object) -> Self:
        return cls(roster, study.study.seed)

    def route(self, items: Sequence[Item]) -> list[Question]:
        return [
            Question(
                id=question_id(self.name, self.seed, item.id, 0),
                item_id=item.id,
                option=0,
                expert=self.roster.for_class(item.options[0])[0].name,
                n_options=len(item.options),
                protocol=self.name,
                propensity=1.0,
                propensities=(1.0, *(0.0 for _ in item.options[1:])),
                seed=self.seed,
            )
            for item in items
        ]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "one_file", sys.modules[__name__])
    monkeypatch.setitem(PROTOCOLS, "first-option", "one_file:FirstOption")


@pytest.mark.usefixtures("registered")
def test_a_new_protocol_is_one_class_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    truth = [("red", "blue", "red", "green")[j % 4] for j in range(40)]
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},text {j}\n" for j in range(40)))
    Path("key.csv").write_text("id,label\n" + "".join(f"i{j},{t}\n" for j, t in enumerate(truth)))
    Path("said.csv").write_text("id,prediction\n" + "".join(f"i{j},red\n" for j in range(40)))
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in ("red", "green", "blue"))
    )
    Path("study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
        '[experts]\nprotocol = "first-option"\n'
    )
    assert oversight("label", "route")["new"] == 40
    oversight("label", "simulate", "--key", "key.csv")
    oversight("predictions", "import", "said.csv", "--model", "m")
    found = oversight("estimate")
    assert found["protocol"] == "first-option"
    assert found["models"]["m"]["undefined"] == {}
    (estimate,) = found["models"]["m"]["estimates"].values()
    assert estimate["estimate"] == truth.count("red") / 40
    assert estimate["assumptions"] == ["the first option is as good as any"]
    assert found["models"]["m"]["checks"] == []
    assert "the first option is as good as any" in (oversight("report"), Path("report.html").read_text())[1]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_states_the_uses_of_its_labels(name: str) -> None:
    protocol = load_protocol(name)
    statement = state_protocol(name)
    assert name_protocol(protocol.__name__) == name
    assert statement.assumptions
    assert statement.answers
    assert set(statement.checks) <= set(CHECKS)
    assert bool(statement.checks) == (statement.estimator != "ratings")  # panels have separate reports


OTHERWISE_MEANT = {"--counts of certify": "disagreement", "a verb, a page and a setting": "panel"}
"""A word that is the name of a protocol and, as a whole text, also something else."""


def test_protocol_names_are_only_in_the_registry() -> None:
    root = Path(__file__).parents[2]
    found = [
        f"{path.relative_to(root)}:{node.lineno}: {node.value}"
        for wing in ("harness", "protocols", "agents")
        for path in (root / wing).rglob("*.py")
        if path.name != "registry.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in PROTOCOLS.keys() - OTHERWISE_MEANT.values()
    ]
    assert found == []
