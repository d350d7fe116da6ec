"""Read rows from data frames: pandas, polars, pyarrow, and the interchange and Arrow protocols."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard

from oversight.harness.datasets.row import Row
from oversight.harness.errors import DataError, InMemory, WrongType

FRAME = InMemory("frame")


class InterchangeFrame(Protocol):
    """A table in memory that supports the dataframe interchange protocol."""

    def __dataframe__(self) -> Any:
        """Return the table in the dataframe interchange protocol."""
        ...


class ArrowFrame(Protocol):
    """A table in memory that exports its columns as an Arrow stream, as newer libraries do."""

    @property
    def columns(self) -> Any:
        """The columns, or their names; objects that are not tables lack this attribute."""
        ...

    def __arrow_c_stream__(self) -> Any:
        """Return the table as an Arrow stream."""
        ...


Frame: TypeAlias = "InterchangeFrame | ArrowFrame"
Source: TypeAlias = "str | os.PathLike[str] | InterchangeFrame | ArrowFrame"
"""A file, given by its path, or a frame."""


def is_frame(given: object) -> TypeGuard[Frame]:
    """Whether an object is a data frame."""
    speaks = hasattr(given, "__dataframe__") or (
        hasattr(given, "__arrow_c_stream__") and hasattr(given, "columns")
    )
    return speaks and not isinstance(given, type)


def check_path(given: Source) -> str | os.PathLike[str]:
    """Return a path unchanged, or raise an error that lists the accepted kinds of source.

    Raises
    ------
    WrongType
        If the object is not a path.
    """
    if not isinstance(given, str | os.PathLike):
        raise WrongType("source", "a path or a frame (pandas, polars, pyarrow, ...)", given)
    return given


def name_source(given: Source) -> str:
    """Return the name of a source for errors: the given path, or ``frame``."""
    return FRAME if is_frame(given) else str(given)


def read_frame(frame: Frame) -> Iterator[Row]:
    """Read the rows of a frame, counted from 0; every kind of missing value becomes None.

    Raises
    ------
    DataError
        If a column name occurs twice, a column has a type that the interchange protocol lacks, or pyarrow
        is missing.
    """
    columns = {name: list(map(_plain, values)) for name, values in _columns(frame).items()}
    for number, values in enumerate(zip(*columns.values(), strict=True)):
        yield Row(FRAME, number, dict(zip(columns, values, strict=True)))


def _columns(frame: Any) -> Mapping[str, Sequence[Any]]:
    """Return column name → values. Pandas and polars convert their own frames, so that lists are kept."""
    if _is_of(frame, "pandas"):
        return _pandas_columns(frame)
    if _is_of(frame, "polars"):
        found: Mapping[str, Sequence[Any]] = frame.to_dict(as_series=False)
        return found
    try:
        import pyarrow as pa
        from pyarrow.interchange import from_dataframe
    except ImportError:
        raise DataError("frames other than pandas and polars need: pip install pyarrow", file=FRAME) from None
    try:
        table = pa.table(frame) if hasattr(frame, "__arrow_c_stream__") else from_dataframe(frame)
    except Exception as error:  # each library raises errors of its own types
        raise DataError(f"cannot be read: {error}", file=FRAME) from error
    _refuse_double(table.column_names)
    return {name: column.to_pylist() for name, column in zip(table.column_names, table.columns, strict=True)}


def _pandas_columns(frame: Any) -> Mapping[str, Sequence[Any]]:
    """Return the columns of a pandas frame, and its index if the index has a name that no column has."""
    _refuse_double([str(name) for name in frame.index.names if name is not None])
    for name in frame.index.names:
        if name is not None and name not in frame.columns:
            frame = frame.assign(**{str(name): frame.index.get_level_values(name)})
    _refuse_double(list(map(str, frame.columns)))
    given = ((str(name), column.astype(object)) for name, column in frame.items())
    return {name: column.where(column.notna(), None).tolist() for name, column in given}


def _refuse_double(names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise DataError("the column occurs twice", file=FRAME, field=name)


def _plain(value: Any) -> Any:
    """Convert a library's value to plain Python: numpy numbers and arrays, missing values, and tuples."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, tuple):
        return list(value)
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124  only NaN differs from itself


def _is_of(given: object, library: str) -> bool:
    """Whether an object is a frame of a library; a library that is not imported has no frames."""
    module = sys.modules.get(library)
    return module is not None and isinstance(given, getattr(module, "DataFrame", ()))
