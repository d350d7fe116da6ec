"""Results that are shown as a table in a notebook and convert to a frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from oversight.harness.distribution import install_line
from oversight.harness.errors import ConfigError, WrongType
from oversight.harness.types.html_table import HtmlTable, write_html
from oversight.harness.types.notes import plain_fields

if TYPE_CHECKING:
    from pandas import DataFrame


class Shown(ABC):
    """A result with rows."""

    __slots__ = ()

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries with the same keys."""

    @abstractmethod
    def html_tables(self) -> Sequence[HtmlTable]:
        """HTML shown in a notebook."""

    def to_frame(self) -> DataFrame:
        """The rows as a pandas frame, see `to_frame`."""
        return to_frame(self)

    def _repr_html_(self) -> str:
        return write_html(self.html_tables())


def to_frame(result: Shown | Mapping[str, Shown] | Iterable[Any]) -> DataFrame:
    """Convert results, or records such as items and labels, to a pandas frame.

    Parameters
    ----------
    result
        An estimate, all estimates of one or several models, a comparison or ranking, a plan, a report of a
        study, agreement, certificate, parity; a dictionary of these by name, which becomes the column
        ``name``; or a list of records, whose fields become columns. Columns in an item's `meta` become
        columns as well.

    Raises
    ------
    ConfigError
        If pandas is not installed.
    WrongType
        If it is none of these.
    """
    try:
        import pandas as pd
    except ImportError:
        raise ConfigError(f"frames need: {install_line('frames')}") from None
    return pd.DataFrame(_records(result))


def _records(result: object) -> list[dict[str, Any]]:
    if isinstance(result, Shown):
        return result.records()
    if isinstance(result, Mapping):
        return [{"name": name} | record for name, one in result.items() for record in _records(one)]
    if isinstance(result, Iterable) and not isinstance(result, str | bytes):
        return [_fields(record) for record in result]
    raise WrongType("result", "a result or a list of records", result)


def _fields(record: object) -> dict[str, Any]:
    """The fields of a record, with words instead of enumerated values, and its own columns."""
    if isinstance(record, Shown):
        (only,) = record.records()
        return only
    if not is_dataclass(record) or isinstance(record, type):
        raise WrongType("result", "a result or a list of records", record)
    found = plain_fields(record)
    more = found.pop("meta", {})
    plain = {name: value.value if isinstance(value, Enum) else value for name, value in found.items()}
    return plain | {name: value for name, value in more.items() if name not in plain}
