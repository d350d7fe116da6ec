"""The terms on which models are asked, and the result of asking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from oversight.harness.config import ModelSection
from oversight.harness.errors import OversightError
from oversight.harness.llm.models import RunnableModel, make_model
from oversight.harness.llm.runner.targets import Target
from oversight.harness.store import Uncertain

DEFAULT_PATIENCE = 600.0
"""Default number of seconds to wait for an endpoint that answers nothing."""


class Workers(Protocol):
    """Processes that make calls, see `THIS_PROCESS` and `oversight.harness.cluster.RayWorkers`."""

    @property
    def number(self) -> int:
        """Number of processes; each makes up to `concurrency` calls of a model at once."""

    def make_model(
        self, settings: ModelSection, function: Callable[[str], Any] | None = None
    ) -> RunnableModel:
        """Create a model from settings, or from `function`, whose calls these processes make."""


class _ThisProcess:
    """Makes all calls in this process."""

    number = 1
    make_model = staticmethod(make_model)


THIS_PROCESS: Workers = _ThisProcess()
"""Workers that make all calls in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """The terms on which models are asked.

    Attributes
    ----------
    budget_usd, budget_tokens, budget_requests
        Limits on the cost of the runs, including earlier cost; None means no limit. Dollars; tokens sent
        and received together; calls sent, including refused ones.
    patience
        Seconds to wait for an endpoint that answers nothing.
    wait
        Whether to wait for another process that works on the same runs.
    take_over
        Whether the user confirms that processes on other machines which hold the runs have ended.
    uncertain
        Treatment of answers that were unfinished when a process died.
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
        """Limits in dollars, tokens and requests."""
        return self.budget_usd, self.budget_tokens, self.budget_requests


DEFAULT_TERMS = RunTerms()
"""Without limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A target after `prepare`, the number of answers asked for, and the error that stopped it.

    `asked` counts the answers that were missing before the run.
    """

    target: Target
    asked: int
    error: OversightError | None = None
