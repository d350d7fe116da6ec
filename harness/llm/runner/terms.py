"""Settings for running models, and the result of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from oversight.harness.config import ModelSection
from oversight.harness.errors import OversightError
from oversight.harness.llm.models.interface import ModelFunction, RunnableModel
from oversight.harness.llm.models.made_models import make_model
from oversight.harness.llm.runner.targets import Target
from oversight.harness.store import Uncertain

DEFAULT_PATIENCE = 600.0
"""Default number of seconds to wait for an endpoint that does not answer."""


class Workers(Protocol):
    """Processes that make model calls: `THIS_PROCESS` or `oversight.harness.cluster.RayWorkers`."""

    @property
    def number(self) -> int:
        """Number of processes; each makes at most `ModelSection.concurrency` calls to a model at once."""

    def make_model(self, settings: ModelSection, function: ModelFunction | None = None) -> RunnableModel:
        """Create the client of a model, or a client that calls `function`; the workers make the calls."""


class _ThisProcess:
    """Makes all calls in this process."""

    number = 1
    make_model = staticmethod(make_model)


THIS_PROCESS: Workers = _ThisProcess()
"""Workers that make all calls in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """Budget, waiting and workers of runs.

    Attributes
    ----------
    budget_usd, budget_tokens, budget_requests
        Limits on the total usage of all runs, including usage by earlier commands. They count US dollars,
        tokens (sent plus received), and calls sent (including refused calls). None means no limit.
    patience
        Seconds to wait for an endpoint that does not answer.
    wait
        Whether to wait until other processes have finished their work on the same runs.
    take_over
        Whether to take over the locks of processes on other machines. The user confirms that these processes
        have ended.
    uncertain
        What happens to answers that a dead process left unfinished: ``"retry"`` requests them again,
        ``"hold"`` stores them as failed.
    workers
        The processes that make the calls.
    """

    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_requests: int | None = None
    patience: float = DEFAULT_PATIENCE
    wait: bool = False
    take_over: bool = False
    uncertain: Uncertain = "retry"
    workers: Workers = THIS_PROCESS

    @property
    def budget(self) -> tuple[float | None, int | None, int | None]:
        """The three limits, in dollars, tokens and requests."""
        return self.budget_usd, self.budget_tokens, self.budget_requests


DEFAULT_TERMS = RunTerms()
"""Terms without a budget, in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Result of one model's run: the target after `prepare`, and the error that stopped the run, or None.

    `asked` is the number of answers that the run has stored, including failed ones.
    """

    target: Target
    asked: int
    error: OversightError | None = None
