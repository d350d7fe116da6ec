"""What a model is to the runner: something that answers a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer as it came.

    Attributes
    ----------
    text
        What it wrote; may be empty.
    finish_reason
        Why it stopped, in the endpoint's words: ``"stop"``, ``"length"``, ``"content_filter"``….
    input_tokens, output_tokens
        As the endpoint counted them; 0 if it did not say.
    """

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0


class Model(Protocol):
    """One method; everything else (retries, concurrency, parsing, storing) is the runner's."""

    async def ask(self, prompt: str) -> Reply:
        """Answer one prompt.

        Raises
        ------
        TransientModelError
            If another try may succeed.
        FatalModelError
            If none will.
        """
        ...

    async def close(self) -> None:
        """Free connections."""
        ...
