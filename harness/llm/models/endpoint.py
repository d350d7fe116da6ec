"""Where a model's endpoint is."""

from __future__ import annotations

from harness.config import LOCAL_ENDPOINT, ModelSection
from harness.errors import ConfigError


def base_url(settings: ModelSection) -> str:
    """Return the base URL of a model's endpoint; ``"local"`` is looked up.

    Raises
    ------
    ConfigError
        If the local server is wanted and not running, or the endpoint is no URL.
    """
    if settings.endpoint == LOCAL_ENDPOINT:
        from harness.llm.local import find_local_model

        server = find_local_model()
        if server is None:
            raise ConfigError("the local model is not running; start it with: oversight model start")
        return server.url
    if not settings.endpoint.startswith(("http://", "https://")):
        raise ConfigError(
            f"the endpoint {settings.endpoint!r} of {settings.model!r} is neither a URL, nor 'local', "
            "nor a name under [endpoints]"
        )
    return settings.endpoint
