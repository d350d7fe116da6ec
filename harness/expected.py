"""What an argument must be: a text is never taken for a list of texts, and errors name what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oversight.harness.errors import WrongType


def check_names(name: str, given: object, such_as: str = "['a', 'b']") -> None:
    """Require a list of texts; one text alone is none, although it would go for its letters.

    Raises
    ------
    WrongType
        Naming the argument and what was given.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise WrongType(name, f"a list of texts, such as {such_as}", given)


def check_mapping(name: str, given: object, of: str) -> None:
    """Require a mapping, such as a dictionary; `of` says from what to what.

    Raises
    ------
    WrongType
        Naming the argument and what was given.
    """
    if not isinstance(given, Mapping):
        raise WrongType(name, f"a dictionary of {of}", given)


def check_records(name: str, given: object, kind: type) -> None:
    """Require a list of one kind of records; only the first is looked at.

    Raises
    ------
    WrongType
        Naming the argument and what was given.
    """
    expected = f"a list of oversight.{kind.__name__}"
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise WrongType(name, expected, given)
    first = next(iter(given), None) if hasattr(given, "__len__") else None
    if first is not None and not isinstance(first, kind):
        raise WrongType(f"{name}[0]", f"an oversight.{kind.__name__}", first)
