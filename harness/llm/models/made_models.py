"""Create the client of a model from its settings: an endpoint, a function or a command."""

from __future__ import annotations

from oversight.harness.config import ModelSection
from oversight.harness.distribution import require
from oversight.harness.llm.models.interface import ModelFunction, RunnableModel


def make_model(settings: ModelSection, function: ModelFunction | None = None) -> RunnableModel:
    """Create the client that the settings describe, or a client that calls `function`.

    Raises
    ------
    ConfigError
        If an API key, the package for Azure, the local server, the function or the
        command is missing.
    """
    if function is not None or settings.python is not None:
        from oversight.harness.llm.models.program_models import FunctionModel, load_function

        return FunctionModel(function or load_function(settings.python or ""), settings.timeout)
    if settings.command:
        from oversight.harness.llm.models.program_models import CommandModel

        return CommandModel(settings.command, settings.timeout)
    if settings.api_version is not None:
        require("openai", "an endpoint with an api_version", "openai")
        from oversight.harness.llm.models.sdk_model import AzureModel

        return AzureModel(settings)
    from oversight.harness.llm.models.http_model import HttpModel

    return HttpModel(settings)
