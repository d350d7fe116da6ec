"""No public function takes a text for a list of texts, or for a dictionary."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oversight.harness import WrongType

PACKAGES = ("oversight", "oversight.protocols")
LISTS = re.compile(r"(?:Sequence|Iterable|Collection|list|tuple|set|frozenset)\[str\b")
MAPPINGS = re.compile(r"(?:Mapping|dict)\[str\b|\bPredictions\b")
TEXTS = re.compile(r"(?:^|\| )(?:str|Source)(?: \||$)")
"""Annotations of arguments that may also be one text: a column's name, a path."""
NAMED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
UNTAKEN = {
    "LabelStudio": "made by from_env",
    "OversightError": "takes any parts",
}


def offered() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, class and method of a class."""
    for package in PACKAGES:
        face = importlib.import_module(package)
        for name in sorted(face.__all__):
            value = getattr(face, name)
            if inspect.isclass(value) and name not in UNTAKEN:
                yield f"{package}.{name}", value
                for attribute, method in vars(value).items():
                    if inspect.isfunction(method) and not attribute.startswith("_"):
                        yield f"{package}.{name}.{attribute}", method
            elif inspect.isfunction(value):
                yield f"{package}.{name}", value


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:  # an enumeration's
        return []


ARGUMENTS = [
    pytest.param(function, parameter.name, id=f"{name}({parameter.name})")
    for name, function in offered()
    for parameter in _parameters(function)
    if not TEXTS.search(annotation := str(parameter.annotation))
    and (LISTS.search(annotation) or MAPPINGS.search(annotation))
]


def test_arguments_that_take_lists_are_found() -> None:
    found = {str(case.id) for case in ARGUMENTS}
    assert found >= {
        "oversight.ItemMapping(classes)",
        "oversight.ItemMapping(meta)",
        "oversight.Item(options)",
        "oversight.compare(models)",
        "oversight.predictions_from_arrays(classes)",
        "oversight.protocols.Expert(classes)",
        "oversight.protocols.read_answers(paths)",
    }


class Anything:
    """An argument that is not looked at before the one that is wrong."""

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize(("function", "name"), ARGUMENTS)
def test_text_in_place_of_a_list_is_refused(function: Callable[..., Any], name: str) -> None:
    given: dict[str, Any] = {}
    for parameter in _parameters(function):
        if parameter.name == "self":
            wing = importlib.import_module(function.__module__)
            owner = getattr(wing, function.__qualname__.partition(".")[0])
            given["self"] = object.__new__(owner)
        elif parameter.default is inspect.Parameter.empty and parameter.kind in NAMED:
            given[parameter.name] = {} if MAPPINGS.search(str(parameter.annotation)) else Anything()
    with pytest.raises(WrongType, match=rf"^{name}: expected .*, got the text 'a,b'"):
        function(**{**given, name: "a,b"})


def test_the_options_column_may_be_one_name_or_several() -> None:
    from oversight import ItemMapping

    assert ItemMapping(options="choices").options == "choices"
    assert ItemMapping(options=["A", "B"]).options == ("A", "B")  # type: ignore[arg-type]
    assert ItemMapping(classes=["a", "b"]).classes == ("a", "b")  # type: ignore[arg-type]
