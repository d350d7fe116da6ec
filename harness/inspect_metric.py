"""A metric for inspect-ai: a model's accuracy and its interval, from experts' answers stored in the scores.

inspect-ai finds the metric through this project's entry point, as ``oversight/expert_accuracy``. The metric
is registered at its first use, so that importing this module does not require inspect-ai.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from oversight.harness.analysis import estimate_carried, unpack_scores
from oversight.harness.errors import ConfigError


def __getattr__(name: str) -> Any:
    if name != "expert_accuracy":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _register()


@cache
def _register() -> Any:
    try:
        from inspect_ai.scorer import metric
    except ImportError:
        raise ConfigError("the metric expert_accuracy needs: pip install inspect-ai") from None
    return metric(name="expert_accuracy")(_expert_accuracy)


def _expert_accuracy(
    level: float | None = None, estimator: str = "ml"
) -> Callable[[Sequence[Any]], dict[str, float]]:
    """Make the metric for inspect-ai; arguments are as in `oversight.accuracy`.

    If `level` is None, the study's level is used, which is stored with the scores.
    """

    def measure(scores: Sequence[Any]) -> dict[str, float]:
        items, settings = unpack_scores([sample.score.metadata for sample in scores])
        found = estimate_carried(items, settings, estimator=estimator, level=level)
        named = {"accuracy": found.value, "low": found.low, "high": found.high, "stderr": found.se}
        return {name: float(value) for name, value in named.items() if value is not None}

    return measure
