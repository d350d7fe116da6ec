"""The hashed specification of all that decides a model's answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from harness.config.models import Section


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

    @property
    def id(self) -> str:
        """First 12 hexadecimal digits of the SHA-256 of the spec.

        Fields that came later count only where they are set, so that a run keeps its name, and what
        was paid for it, when a new version knows more settings.
        """
        first = {"name", "model", "endpoint", "temperature", "max_tokens", "stop", "template", "max_words"}
        spec = {n: value for n, value in self.model_dump().items() if n in first or value != _default(n)}
        return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:12]

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
