"""Results: a short text, a table in a notebook, a pandas frame and a plot.

Pandas and matplotlib are imported only by the calls that need them.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from oversight.harness.distribution import install_line
from oversight.harness.errors import ConfigError, WrongType
from oversight.harness.types.html_table import HtmlTable, write_html
from oversight.harness.types.notes import plain_fields

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class Shown(ABC):
    """A result with a headline, rows and a picture.

    Attributes
    ----------
    picture
        Name of the function of `oversight.harness.plot` that draws it.
    """

    __slots__ = ()
    picture: ClassVar[str]

    @abstractmethod
    def __str__(self) -> str:
        """The result in a few lines, the verdict or the number first."""

    def __repr__(self) -> str:
        return str(self)

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries with the same keys."""

    @abstractmethod
    def html_tables(self) -> Sequence[HtmlTable]:
        """HTML shown in a notebook."""

    def to_frame(self) -> DataFrame:
        """The rows as a pandas frame, see `to_frame`."""
        return to_frame(self)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the result with matplotlib, see `oversight.harness.plot`.

        Parameters
        ----------
        axes
            Where to draw; None makes axes. The figure is ``result.plot().figure``.

        Raises
        ------
        ConfigError
            If the ``report`` extra is missing.
        """
        # Imported here and by name, because `plot` is in a higher layer than this folder.
        pictures = importlib.import_module("oversight.harness.plot")
        drawn: Axes = getattr(pictures, self.picture)(self, axes=axes)
        return drawn

    def _repr_html_(self) -> str:
        headline = HtmlTable(title=str(self).partition("\n")[0])
        return write_html([headline, *self.html_tables()])


def to_frame(result: Shown | Mapping[str, Shown] | Iterable[Any]) -> DataFrame:
    """Convert results, or records such as items and labels, to a pandas frame.

    Parameters
    ----------
    result
        An estimate, all estimates of one or several models, a comparison or ranking, a verdict of a gate, a
        plan, a report of a study or search, agreement, certificate, parity; a dictionary of these by name,
        which becomes the column ``name``; or a list of records, whose fields become columns. Columns in the
        `meta` of an item become columns as well.

    Raises
    ------
    ConfigError
        If pandas is not installed.
    WrongType
        If it is none of these.

    Examples
    --------
    >>> import oversight as ov
    >>> found = ov.estimate_counts(4, S_o=77, n_o=120, S_c=321, n_c=360)
    >>> to_frame(found)[["estimator", "value"]].round(3).head(2)
      estimator  value
    0       ord  0.642
    1      comp  0.675
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
