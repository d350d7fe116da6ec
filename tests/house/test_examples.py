"""Every name that a user of the statistics calls has an example, which `tests/test_doctests.py` runs."""

from __future__ import annotations

import importlib
import inspect

STATISTICS = ("estimate", "panel", "judges", "open_answers")
WITHOUT = {
    "oversight.harness.analysis.DesignFreeze": "used inside the transaction of a draw, by protocols",
    "oversight.harness.judges.ask_judge": "asks a server",
    "oversight.harness.open_answers.JudgedStudy": "is read from a study with drawn questions",
    "oversight.harness.open_answers.ask_judge": "asks a model of the study",
    "oversight.harness.open_answers.gate_open_study": "needs a study with judged answers",
    "oversight.harness.open_answers.make_frame": "needs a study with answers of models",
    "oversight.harness.open_answers.match_probabilities": "needs a study with drawn questions and a judge",
    "oversight.harness.open_answers.read_frame": "needs a study with units",
    "oversight.harness.open_answers.read_judged": "needs a study with drawn questions",
    "oversight.harness.open_answers.read_judged_answers": "makes a part of the viewer's page",
    "oversight.harness.open_answers.store_gold_units": "needs a study with drawn questions",
}
"""Names without an example, each with its reason."""


def has_methods(value: type) -> bool:
    """Whether a class of the product offers more than its fields."""
    return any(
        isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)
        for base in value.__mro__
        if base.__module__.startswith("oversight.")
        for name, member in vars(base).items()
        if not name.startswith("_")
    )


def find_without_example() -> set[str]:
    """Names of `oversight`, of the statistics, and of results of the analysis, without an example."""
    found = set()
    for face in ("oversight", *(f"oversight.harness.{room}" for room in (*STATISTICS, "analysis"))):
        module = importlib.import_module(face)
        for name in module.__all__:
            value = getattr(module, name)
            needs = (
                face == "oversight" or has_methods(value)
                if inspect.isclass(value)
                else inspect.isfunction(value) and face != "oversight.harness.analysis"
            )
            if needs and ">>> " not in (value.__doc__ or ""):
                found.add(f"{face}.{name}")
    return found


def test_every_name_has_an_example_or_a_reason() -> None:
    assert find_without_example() == WITHOUT.keys()
