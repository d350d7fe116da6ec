"""Check types of arguments; errors name the argument and the expected type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oversight.harness.errors import WrongType


def check_names(name: str, given: object, such_as: str = "['a', 'b']") -> None:
    """Check that an argument is a list of texts; a single text is refused.

    Raises
    ------
    WrongType
        If the argument has another type; the message names the argument and the value.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise WrongType(name, f"a list of texts, such as {such_as}", given)


def check_mapping(name: str, given: object, of: str) -> None:
    """Check that an argument is a mapping; `of` describes keys and values in the message.

    Raises
    ------
    WrongType
        If the argument has another type; the message names the argument and the value.
    """
    if not isinstance(given, Mapping):
        raise WrongType(name, f"a dictionary of {of}", given)


def is_given(value: object) -> bool:
    """Whether a value is not missing: not None, NaN, NaT or ``pandas.NA``.

    >>> is_given("p1"), is_given(None), is_given(float("nan"))
    (True, False, False)
    """
    try:
        return value is not None and bool(value == value)  # noqa: PLR0124 - NaN and NaT differ from themselves
    except (TypeError, ValueError):  # pandas.NA is neither true nor false
        return False


def check_records(name: str, given: object, kind: type) -> None:
    """Check that an argument is a list of records of type `kind`; only the first record is checked.

    Raises
    ------
    WrongType
        If the argument has another type; the message names the argument and the value.
    """
    expected = f"a list of oversight.{kind.__name__}"
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise WrongType(name, expected, given)
    first = next(iter(given), None) if hasattr(given, "__len__") else None
    if first is not None and not isinstance(first, kind):
        raise WrongType(f"{name}[0]", f"an oversight.{kind.__name__}", first)
