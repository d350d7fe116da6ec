"""A study's database and all that is read and written there."""

from __future__ import annotations

from typing import Self

from harness.store.calls import CallRepository
from harness.store.database import Database, count_rows
from harness.store.endpoints import EndpointRepository
from harness.store.labelling import LabellingRepository
from harness.store.panels import PanelRepository
from harness.store.replies import ReplyRepository
from harness.store.runs import RunRepository
from harness.store.searches import SearchRepository
from harness.store.study_content import ContentRepository
from harness.store.tables import AnswerRow, ItemRow, PredictionRow, QuestionRow, RunRow


class Store:
    """The repositories of a study, on one open database.

    Parameters
    ----------
    url
        SQLAlchemy URL; see `harness.store.database.Database`.
    """

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        self.content = ContentRepository(self.database)
        self.runs = RunRepository(self.database)
        self.endpoints = EndpointRepository(self.database)
        self.calls = CallRepository(self.database)
        self.panel = PanelRepository(self.database)
        self.labelling = LabellingRepository(self.database)
        self.searches = SearchRepository(self.database)

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def replies(self, *, panel: bool) -> ReplyRepository:
        """What annotators of a panel, or else experts, said."""
        return self.panel.replies if panel else self.content.replies

    def count_rows(self) -> dict[str, int]:
        """Number of rows of each table of items, questions, answers, runs and predictions."""
        tables = [row.__table__ for row in (ItemRow, QuestionRow, AnswerRow, RunRow, PredictionRow)]
        with self.database.transaction() as connection:
            return {table.name: count_rows(connection, table) for table in tables}
