"""How a model is reached and asked: sections of study.toml, and the specification of a run."""

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
AnswerForm = Literal["line", "schema", "choice", "free"]
"""How an answer is asked for: on a last line, in a JSON Schema, by the server's constraint, or freely."""
OPENAI = "https://api.openai.com/v1"


ENDPOINT_ONLY = ("requests_per_minute", "tokens_per_minute", "shared_limits", "api_version", "limit_as")
"""Settings that study.toml has under ``[endpoints.NAME]`` alone; a model takes those of its endpoint."""


class Section(BaseModel):
    """A section of study.toml: frozen, typed strictly, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _without_login(url: str) -> str:
    if re.match(r"\w+://[^/?#]*@", url):
        raise ValueError("a URL with a user or a password; the key belongs in what api_key_env names")
    return url


EndpointURL = Annotated[str, AfterValidator(_without_login)]
KeyVariable = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")]
"""The name of an environment variable; what is none is not shown, since it may be the key itself."""


class EndpointSection(Section):
    """An endpoint that several models share; what a model sets itself goes before it.

    Attributes
    ----------
    url
        Base URL, or ``"local"``.
    api_key_env
        Environment variable that holds the key.
    concurrency
        Most calls under way at once, of each model; fewer while the endpoint says it is overloaded.
    requests_per_minute
        Most calls a minute, of each model; unset, there is no limit.
    tokens_per_minute
        Most tokens a minute, of each model; unset, there is no limit.
    shared_limits
        Whether these are limits of all models together.
    timeout
        Seconds to wait for one answer, connecting included.
    tries
        Calls for one answer before it counts as failed; three times as many under a rate limit.
    api_version
        The version of an Azure deployment's API; asks through the SDK.
    limit_as
        The field in which the endpoint takes the limit of tokens; ``"auto"`` takes ``max_completion_tokens``,
        and ``max_tokens`` if that is refused. Batches are sent with the first.
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
    """One model: behind an OpenAI-compatible endpoint, a Python callable or a command.

    Attributes
    ----------
    endpoint
        A base URL, the name of a section under ``[endpoints]``, or ``"local"`` for the server of
        ``oversight server start model``.
    model
        What the endpoint calls the model; of a callable or a command, a name of yours for its version.
    python
        ``"module:function"`` to call with the prompt, in place of an endpoint.
    command
        A program and its arguments, given the prompt on standard input, in place of an endpoint.
    api_key_env
        Environment variable that holds the key; none is needed on the loopback interface.
    temperature
        Temperature of the answers; unset, the endpoint decides.
    max_tokens
        Most tokens of an answer; unset, the endpoint decides. Thinking before the answer counts.
    stop
        Texts at which an answer ends.
    samples
        Answers per item; several are put to a vote (self-consistency).
    structured
        Whether the endpoint is made to answer in a JSON Schema: ``"auto"`` where it can, ``"always"``
        refuses one that cannot.
    logprobs
        Whether to ask for log-probabilities, where offered, from which a confidence is computed.
    answers_as
        What the endpoint calls the model in its replies, where that is another name.
    extra
        Further fields of the request's body, such as ``top_p`` or ``reasoning_effort``.
    concurrency
        Most calls under way at once; fewer while the endpoint says it is overloaded.
    timeout
        Seconds to wait for one answer, connecting included.
    tries
        Calls for one answer before it counts as failed; three times as many under a rate limit.
    """

    # Errors in study.toml are named in the order of the fields.
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

    @model_validator(mode="after")
    def _one_way(self) -> ModelSection:
        if self.python is not None and self.command:
            raise ValueError("give python or command, not both")
        taken = {"model", "messages", "stream", "n"} & set(self.extra)
        if taken:
            raise ValueError(f"extra: {taken.pop()!r} is set by oversight itself")
        return self

    @property
    def where(self) -> str:
        """The source of answers: the endpoint, the callable or the command."""
        if self.python is not None:
            return f"python {self.python}"
        return f"command {json.dumps(self.command)}" if self.command else self.endpoint

    def with_endpoint(self, endpoints: Mapping[str, EndpointSection]) -> ModelSection:
        """Fill in the settings of the endpoint that the model names; what it sets itself goes before them."""
        endpoint = endpoints.get(self.endpoint)
        if endpoint is None:
            return self
        shared = endpoint.model_dump(exclude=self.model_fields_set)
        return self.model_copy(update={**shared, "endpoint": shared.pop("url")})


def check_pattern(pattern: str) -> str:
    """Return a pattern of answers if it can be used.

    Raises
    ------
    ValueError
        If it is no regular expression, or has no group named ``answer``.
    """
    try:
        groups = re.compile(pattern).groupindex
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if "answer" not in groups:
        raise ValueError("no group (?P<answer>…), which is to hold the letter or text of the option")
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
                f"the key in {model.api_key_env} holds a line break or another character that no key has; "
                "set it again"
            )
        return key
    if model.endpoint == LOCAL_ENDPOINT or re.match(r"https?://(localhost|127\.|\[::1\])", model.endpoint):
        return "none"
    raise ConfigError(
        f"the environment variable {model.api_key_env} is not set; it holds the key for {model.endpoint}"
    )


class RunSpec(Section):
    """All that decides a model's answers; its hash names the run.

    Attributes
    ----------
    model, endpoint, temperature, max_tokens, stop, extra
        As sent to the endpoint.
    template, system
        The texts of the prompt template and the system prompt, not their file names.
    max_words
        Longest text that is shown, in words; None shows all.
    structured
        Whether answers follow a JSON Schema.
    logprobs
        Whether log-probabilities are asked for.
    answer, pattern
        How answers are read, see `PromptSection`; they are not part of the hash, since they change no call.
    choice
        The server's constraint to the options that is used, if one is.
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

        Fields that came later count only where they are set, so that a run keeps its name, and what
        was paid for it, when a new version knows more settings.
        """
        first = {"name", "model", "endpoint", "temperature", "max_tokens", "stop", "template", "max_words"}
        said = self.model_dump(exclude={"answer", "pattern"})
        spec = {n: value for n, value in said.items() if n in first or value != _default(n)}
        return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """The stored settings of a run; settings of how answers are read only if they are set."""
        later = {name for name in ("answer", "pattern", "choice") if getattr(self, name) == _default(name)}
        return self.model_dump(mode="json", exclude=later)

    def differences(self, stored: Mapping[str, Any]) -> list[str]:
        """Say what a stored spec has otherwise: ``temperature: 0.0 before, 0.7 now``."""
        found = []
        for name, value in self.model_dump(mode="json").items():
            before = stored.get(name, _default(name))
            if before != value:
                long = any(isinstance(v, str) and len(v) > 60 for v in (before, value))
                found.append(f"{name} changed" if long else f"{name}: {before!r} before, {value!r} now")
        return found


def _default(name: str) -> Any:
    return RunSpec.model_fields[name].get_default(call_default_factory=True)
