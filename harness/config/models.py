"""Sections of study.toml about models and endpoints, and the specification of a run."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from oversight.harness.errors import ConfigError
from oversight.harness.output import keep_secret

LOCAL_ENDPOINT = "local"
AnswerForm = Literal["line", "schema", "choice", "free", "probabilities"]
"""Required form of an answer; see `PromptSection.answer`."""
OPENAI = "https://api.openai.com/v1"


ENDPOINT_ONLY = ("requests_per_minute", "tokens_per_minute", "shared_limits", "api_version", "limit_as")
"""Settings allowed only under ``[endpoints.NAME]`` in study.toml; a model takes them from its endpoint."""


class Section(BaseModel):
    """A section of study.toml: frozen, strictly typed; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _without_login(url: str) -> str:
    if re.match(r"\w+://[^/?#]*@", url):
        raise ValueError(
            "must not contain a user or a password; put the key into the environment variable that "
            "api_key_env names"
        )
    return url


EndpointURL = Annotated[str, AfterValidator(_without_login)]
KeyVariable = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")]
"""Name of an environment variable; an invalid name is not shown, because it may be the key itself."""


class EndpointSection(Section):
    """An endpoint that several models share; a model's own settings take precedence.

    Attributes
    ----------
    url
        Base URL, or ``"local"``.
    api_key_env
        Environment variable with the key.
    concurrency
        Largest number of concurrent calls, for each model; reduced while the endpoint is overloaded.
    requests_per_minute
        Largest number of calls per minute, for each model; if unset, there is no limit.
    tokens_per_minute
        Largest number of tokens per minute, for each model; if unset, there is no limit.
    shared_limits
        Whether the limits above apply to all models of the endpoint together.
    timeout
        Seconds to wait for one answer, including the time to connect.
    tries
        Number of calls for one answer before it counts as failed. If the endpoint reports a rate limit, three
        times as many calls are made.
    api_version
        API version of an Azure deployment; calls then use the openai SDK.
    limit_as
        Name of the request field with the token limit. ``"auto"`` uses ``max_completion_tokens``, or
        ``max_tokens`` if the endpoint refuses ``max_completion_tokens``. Batches always use
        ``max_completion_tokens``.
    """

    url: EndpointURL = OPENAI
    api_key_env: KeyVariable = "OPENAI_API_KEY"
    concurrency: int = Field(default=8, ge=1, le=1024)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    shared_limits: bool = False
    timeout: float = Field(default=60.0, gt=0)
    tries: int = Field(default=5, ge=1)
    api_version: str | None = None
    limit_as: Literal["auto", "max_completion_tokens", "max_tokens"] = "auto"


class ModelSection(Section):
    """One model: behind an OpenAI-compatible endpoint, a Python callable, or a command.

    Attributes
    ----------
    endpoint
        A base URL, the name of a section under ``[endpoints]``, or ``"local"`` for the server of
        ``oversight server start model``.
    model
        Name of the model at the endpoint; for a callable or a command, your name for its version.
    python
        ``"module:function"`` that is called with the prompt, instead of an endpoint.
    command
        Program and arguments, instead of an endpoint; the program reads the prompt from standard input.
    api_key_env
        Environment variable with the key; not needed for endpoints on the loopback interface.
    temperature
        Temperature of the answers; if unset, the endpoint's default.
    max_tokens
        Largest number of tokens of an answer, including reasoning; if unset, the endpoint's default.
    samples
        Number of answers per item; several are combined by a vote (self-consistency).
    structured
        Whether the endpoint is made to answer in a JSON Schema: ``"auto"`` does so if the endpoint can,
        ``"always"`` refuses an endpoint that cannot.
    logprobs
        Whether to request log-probabilities, if offered, from which a confidence is computed.
    answer
        Form of this model's answers, as in ``[prompt]``; if unset, that of ``[prompt]``.
    answers_as
        Name of the model in the endpoint's replies, if it is not `model`.
    extra
        Additional fields of the request body, for example ``top_p``, ``stop`` or ``reasoning_effort``.
    concurrency
        Largest number of concurrent calls; reduced while the endpoint is overloaded.
    timeout
        Seconds to wait for one answer, including the time to connect.
    tries
        Number of calls for one answer before it counts as failed. If the endpoint reports a rate limit, three
        times as many calls are made.
    """

    # Errors in study.toml are reported in the order of these fields.
    endpoint: EndpointURL = OPENAI
    model: str = Field(min_length=1)
    python: str | None = Field(default=None, pattern=r"^[\w.]+:[\w.]+$")
    command: list[str] = []
    api_key_env: KeyVariable = "OPENAI_API_KEY"
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=1)
    stop: list[str] = []
    samples: int = Field(default=1, ge=1, le=1000)
    structured: Literal["never", "auto", "always"] = "never"
    logprobs: bool = False
    answer: AnswerForm | None = None
    answers_as: str | None = None
    extra: dict[str, Any] = {}
    concurrency: int = Field(default=8, ge=1, le=1024)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    shared_limits: bool = False
    timeout: float = Field(default=60.0, gt=0)
    tries: int = Field(default=5, ge=1)
    api_version: str | None = None
    limit_as: Literal["auto", "max_completion_tokens", "max_tokens"] = "auto"

    @model_validator(mode="before")
    @classmethod
    def _take_stop(cls, table: Any) -> Any:
        """Move `stop` from `extra` to the field `stop`, which calls of workflows replace by their own."""
        extra = table.get("extra") if isinstance(table, dict) else None
        if not (isinstance(extra, dict) and "stop" in extra):
            return table
        stop = extra["stop"]
        if not isinstance(stop, str | list):
            raise ValueError("extra: 'stop' must be a text or a list of texts")  # noqa: TRY004  pydantic's
        rest = {name: value for name, value in extra.items() if name != "stop"}
        return {**table, "stop": [stop] if isinstance(stop, str) else stop, "extra": rest}

    @model_validator(mode="after")
    def _one_way(self) -> ModelSection:
        if self.python is not None and self.command:
            raise ValueError("give python or command, not both")
        taken = {"model", "messages", "stream", "n"} & set(self.extra)
        if taken:
            raise ValueError(f"extra: {taken.pop()!r} is set by oversight itself; leave it out")
        return self

    @property
    def where(self) -> str:
        """Source of the model's answers: the endpoint, the callable or the command."""
        if self.python is not None:
            return f"python {self.python}"
        return f"command {json.dumps(self.command)}" if self.command else self.endpoint

    def with_endpoint(self, endpoints: Mapping[str, EndpointSection]) -> ModelSection:
        """Return a copy with the settings of the endpoint filled in; the model's own settings are kept."""
        endpoint = endpoints.get(self.endpoint)
        if endpoint is None:
            return self
        shared = endpoint.model_dump(exclude=self.model_fields_set)
        return self.model_copy(update={**shared, "endpoint": shared.pop("url")})


def check_pattern(pattern: str) -> str:
    """Return a pattern for reading answers if it is valid.

    Raises
    ------
    ValueError
        If the pattern is not a regular expression, or has no group named ``answer``.
    """
    try:
        groups = re.compile(pattern).groupindex
    except re.error as error:
        raise ValueError(f"must be a regular expression: {error}") from None
    if "answer" not in groups:
        raise ValueError("must have a group (?P<answer>…) for the letter or text of the option")
    return pattern


def api_key(model: ModelSection) -> str:
    """Read the key of a model's endpoint from the environment.

    Raises
    ------
    ConfigError
        If the variable is not set, or its value is not allowed in a header. Endpoints on the loopback
        interface need no key.
    """
    key = os.environ.get(model.api_key_env, "").strip()
    if key:
        keep_secret(key)
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(
                f"the key in {model.api_key_env} contains a line break or another invalid character; "
                "set it again"
            )
        return key
    if model.endpoint == LOCAL_ENDPOINT or re.match(r"https?://(localhost|127\.|\[::1\])", model.endpoint):
        return "none"
    raise ConfigError(
        f"the environment variable {model.api_key_env} is not set; set it to the key for {model.endpoint}"
    )


class RunSpec(Section):
    """All settings that determine a model's answers; their hash names the run.

    Attributes
    ----------
    model, endpoint, temperature, max_tokens, stop, extra
        Values sent to the endpoint.
    template, system
        Texts of the prompt template and of the system prompt (not file names).
    max_words
        Number of words of an item's text that are shown; None shows all.
    structured
        Whether answers follow a JSON Schema.
    logprobs
        Whether log-probabilities are requested.
    answer, pattern
        How answers are read, see `PromptSection`; not part of the hash, because they change no call.
    choice
        Name of the server's constraint that limits answers to the options, if one is used.
    """

    name: str
    model: str
    endpoint: str
    temperature: float | None
    max_tokens: int | None
    stop: tuple[str, ...]
    template: str
    max_words: int | None
    system: str = ""
    structured: bool = False
    logprobs: bool = False
    extra: dict[str, Any] = Field(default={})
    answer: AnswerForm = "line"
    pattern: str | None = None
    choice: str = ""

    @property
    def id(self) -> str:
        """First 12 hexadecimal digits of the SHA-256 of the spec.

        Fields that were added in later versions count only if they are set. So a run keeps its id and its
        paid answers after an update of this package.
        """
        first = {"name", "model", "endpoint", "temperature", "max_tokens", "stop", "template", "max_words"}
        said = self.model_dump(exclude={"answer", "pattern"})
        spec = {n: value for n, value in said.items() if n in first or value != _default(n)}
        return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Return the run's settings as they are stored; unset settings for reading answers are omitted."""
        later = {name for name in ("answer", "pattern", "choice") if getattr(self, name) == _default(name)}
        return self.model_dump(mode="json", exclude=later)

    def differences(self, stored: Mapping[str, Any]) -> list[str]:
        """Return the differences from a stored spec, for example ``temperature: 0.0 before, 0.7 now``."""
        found = []
        for name, value in self.model_dump(mode="json").items():
            before = stored.get(name, _default(name))
            if before != value:
                long = any(isinstance(v, str) and len(v) > 60 for v in (before, value))
                found.append(f"{name} changed" if long else f"{name}: {before!r} before, {value!r} now")
        return found


def _default(name: str) -> Any:
    return RunSpec.model_fields[name].get_default(call_default_factory=True)
