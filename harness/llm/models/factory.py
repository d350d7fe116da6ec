"""Settings become a model: an endpoint asked over HTTP or the SDK, a callable, or a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.config import ModelSection
from harness.llm.models.interface import RunnableModel


def make_model(settings: ModelSection, function: Callable[[str], Any] | None = None) -> RunnableModel:
    """Make the model that settings describe, or one of `function`; what it needs is imported only here.

    Raises
    ------
    ConfigError
        If a key, the local server, the callable or the command is missing.
    """
    if function is not None or settings.python is not None:
        from harness.llm.models.program_models import FunctionModel, load_function

        return FunctionModel(function or load_function(settings.python or ""), settings.timeout)
    if settings.command:
        from harness.llm.models.program_models import CommandModel

        return CommandModel(settings.command, settings.timeout)
    if settings.api_version is not None:
        from harness.llm.models.openai_model import OpenAIModel

        return OpenAIModel(settings)
    from harness.llm.models.http_model import HttpModel

    return HttpModel(settings)
