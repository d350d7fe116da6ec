"""A model as its settings describe it: an endpoint, a callable or a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oversight.harness.config import ModelSection
from oversight.harness.llm.models.interface import RunnableModel


def make_model(settings: ModelSection, function: Callable[[str], Any] | None = None) -> RunnableModel:
    """Make the model that settings describe, or one of `function`.

    Raises
    ------
    ConfigError
        If a key, the local server, the callable or the command is missing.
    """
    if function is not None or settings.python is not None:
        from oversight.harness.llm.models.program_models import FunctionModel, load_function

        return FunctionModel(function or load_function(settings.python or ""), settings.timeout)
    if settings.command:
        from oversight.harness.llm.models.program_models import CommandModel

        return CommandModel(settings.command, settings.timeout)
    from oversight.harness.llm.models.http_model import HttpModel

    return HttpModel(settings)
