"""No module imports another that leads back to it, types and imports inside functions among them."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.measure import LONGEST_FUNCTION, House, imports_of, length_of, read_house


def find_imports(house: House) -> dict[str, set[str]]:
    """Module → modules that it imports; a face only hands names on."""
    own = {module.name: module for module in house.values() if not module.is_face}
    return {name: {*imports_of(module, house)} & own.keys() - {name} for name, module in own.items()}


def test_no_module_leads_back_to_itself() -> None:
    try:
        TopologicalSorter(find_imports(read_house())).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_no_function_is_long() -> None:
    long = [
        f"{module.path}:{function.lineno} {function.name}"
        for module in read_house().values()
        for function in module.functions
        if length_of(function) > LONGEST_FUNCTION
    ]
    assert long == []
