"""Use Label Studio from programs and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from oversight.harness import ConfigError
from oversight.harness.analysis import DesignFreeze, read_gold, study_items
from oversight.harness.config import STUDY_FILE, read_study
from oversight.harness.store import Store
from oversight.harness.types import Answer, Assignment, Question, Rating
from oversight.protocols.collect.label_studio.campaign import Campaign, Difference
from oversight.protocols.collect.label_studio.push import Pushed
from oversight.protocols.collect.progress.queue_progress import QueueProgress, measure_progress
from oversight.protocols.routing import insert_controls, seal_questions


class LabelStudio(AbstractContextManager["LabelStudio"]):
    """A study's questions on Label Studio; created by `from_env`.

    Parameters
    ----------
    campaign
        The study's campaign. Its database stays open until `close_files` or the end of ``with``.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign

    @classmethod
    def from_env(cls, study: str | Path = ".") -> Self:
        """Open a study with the server that the environment variables name, or with the local server.

        Parameters
        ----------
        study
            Folder of the study, or its study.toml.

        Raises
        ------
        DataError
            If the study does not exist, or one of its files is wrong.
        """
        path = Path(study)
        read = read_study(path / STUDY_FILE if path.is_dir() else path)
        return cls(Campaign(read, Store(read.store_url)))

    def __exit__(self, *_: object) -> None:
        self.close_files()

    def push(self, drawn: Sequence[Question] | Sequence[Assignment] = ()) -> dict[str, Pushed]:
        """Store the drawn questions, then send all questions that have no task on the server yet.

        Returns the results by expert.

        Questions get ids and places derived from the study's secret key.

        Raises
        ------
        ConfigError
            If `drawn` contains questions in a study with a panel, or assignments in a study without a panel.
        LabelStudioError
            If the server fails; another call continues where this one stopped.
        """
        study, store = self.campaign.study, self.campaign.store
        questions = [d for d in drawn if isinstance(d, Question)]
        given = [d for d in drawn if not isinstance(d, Question)]
        if questions if study.experts.is_panel else given:
            raise ConfigError(
                f"these questions were not drawn by the study's protocol, {study.experts.protocol!r}; push "
                "questions drawn by it, or change the protocol"
            )
        gold = read_gold(study)
        items = study_items(study)
        with store.together(exclusive=True):
            freeze, draws = DesignFreeze(study, store), store.content.count_draws()
            store.content.add_items(items)
            new = self._add_questions(questions) + store.panel.add_assignments(given)
            if study.experts.has_controls and not study.is_open:
                new += insert_controls(study, store, self.campaign.roster, gold, draws).new
            freeze.end(new)
        return self.campaign.push()

    def _add_questions(self, questions: list[Question]) -> int:
        """Store questions under sealed ids, and skip those whose id is already stored.

        Returns the number of new questions.
        """
        store = self.campaign.store
        stored = {*store.content.find_experts([q.id for q in questions])}
        fresh = [q for q in questions if q.id not in stored]
        return store.content.add_questions(seal_questions(store.controls.ensure_key(), fresh))

    def pull(self, *, full: bool = False) -> list[Answer]:
        """Fetch changed annotations, and return all answers of the study."""
        self.campaign.pull(full=full)
        return self.campaign.store.content.read_answers()

    def ratings(self, *, full: bool = False) -> list[Rating]:
        """Fetch changed annotations, and return all ratings of the panel."""
        self.campaign.pull(full=full)
        return self.campaign.store.panel.read_ratings()

    def status(self) -> dict[str, QueueProgress]:
        """Return the progress of every expert as of the last pull."""
        return measure_progress(self.campaign.study, self.campaign.store)

    def close(self, *, delete: bool = False) -> Difference:
        """Pull a last time and end the campaign. `delete` also deletes the projects on the server."""
        return self.campaign.close(delete=delete)[0]

    def close_files(self) -> None:
        """Close the database and the connections."""
        self.campaign.__exit__()
        self.campaign.store.close()
