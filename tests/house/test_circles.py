"""No module imports another that leads back to it, types and imports inside functions among them."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from tests.house.measure import LONGEST_FUNCTION, House, imports_of, length_of, read_house


def find_imports(house: House) -> dict[str, set[str]]:
    """Module → modules that it imports; a face only hands names on."""
    own = {module.name: module for module in house.values() if not module.is_face}
    return {name: {*imports_of(module, house)} & own.keys() - {name} for name, module in own.items()}


def find_circle(imports: dict[str, set[str]]) -> list[str]:
    """Modules of one circle of imports, in order; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return [*error.args[1]]
    return []


def test_no_module_leads_back_to_itself() -> None:
    assert find_circle({"a": {"b"}, "b": {"a"}})
    assert find_circle(find_imports(read_house())) == []


def test_no_function_is_long() -> None:
    long = [
        f"{module.path}:{function.lineno} {function.name}"
        for module in read_house().values()
        for function in module.functions
        if length_of(function) > LONGEST_FUNCTION
    ]
    assert long == []
