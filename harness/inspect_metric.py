"""A metric for inspect-ai that reads a model's accuracy and its interval from the scores.

inspect-ai finds the metric through this project's entry point, as ``oversight/expert_accuracy``. The metric
is registered at its first use, so that importing this module does not require inspect-ai.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from oversight.harness.analysis import unpack_scores
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
    return metric(name="expert_accuracy")(make_metric)


def make_metric() -> Callable[[Sequence[Any]], dict[str, float]]:
    """Return a metric for inspect-ai that reads the numbers of `oversight estimate` from the scores.

    Its value `holds` is 0 if the interval may not hold; a warning gives the reason.
    """

    def measure(scores: Sequence[Any]) -> dict[str, float]:
        found = unpack_scores([sample.score.metadata for sample in scores])
        if found.why:
            warnings.warn(f"{found.model}: the interval may not hold: {found.why}", stacklevel=2)
        return found.metrics

    return measure
