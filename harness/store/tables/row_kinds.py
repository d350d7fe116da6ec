"""Base classes and columns that several tables share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import JSON, Table, TypeDecorator
from sqlalchemy.orm import declared_attr
from sqlmodel import Field, SQLModel


class JSONTuple(TypeDecorator[tuple[Any, ...]]):
    """A tuple, stored as a list in JSON."""

    impl = JSON
    cache_ok = True

    def process_result_value(self, value: Any, dialect: object) -> tuple[Any, ...]:  # noqa: ARG002  the base class's
        """Convert the list back into a tuple."""
        return tuple(value)


class TableRow(SQLModel):
    """Base class of rows. The class name gives the table name: `LabelTaskRow` is stored in ``label_task``."""

    model_config = {"defer_build": True}  # rows are written and read as tuples, never validated

    if TYPE_CHECKING:
        __table__: ClassVar[Table]

    @declared_attr.directive
    def __tablename__(cls) -> str:
        return re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Row")).lower()


class SpecifiedRow(TableRow):
    """Base class of rows with an id, a time of creation and all settings (`spec`)."""

    id: str = Field(primary_key=True)
    created: str
    spec: dict[str, Any] = Field(sa_type=JSON)


class ModelAnswerRow(TableRow):
    """Base class of model answers: option, parsing step that found it, raw text and usage."""

    option: int | None
    status: str
    reason: str
    raw: str
    input_tokens: int
    output_tokens: int
    seconds: float
    attempts: int
