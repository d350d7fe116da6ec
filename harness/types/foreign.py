"""A model's answer in another program's log: a frozen value, no I/O."""

from __future__ import annotations

from typing import NamedTuple


class ForeignAnswer(NamedTuple):
    """A model's answer in another program's log, before it is matched with an item of the study.

    Attributes
    ----------
    line
        Where it stands in the file: line, or number of the record, from 1.
    id, text
        How the other program calls the item, and what it asked; either may be empty.
    options
        The options in the order in which letters name them there; empty if the log does not say.
    answer
        Place of an option in `options`, or what the other program read as the answer; None if it
        read nothing.
    raw
        What the model wrote.
    error
        Why there is no answer, if the call failed there.
    cut
        Whether the token limit ended the answer.
    model
        Which model's answer it is, where the log holds those of several.
    status
        What became of it, in an export of a study; then `answer` is an option's whole text, and `error`
        the reason why there is none.
    step
        How the option was read, in an export of a study.
    left_out
        Why this sample is no answer of its own, such as ``"perturbed copy"``; such samples are only counted.
    gap
        Why no item can be made of it, and what to do; empty if one can.
    shown
        What else the model was shown that may hold the question, such as system messages.
    """

    line: int
    id: str
    text: str = ""
    options: tuple[str, ...] = ()
    answer: str | int | None = None
    raw: str = ""
    error: str = ""
    cut: bool = False
    sample: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    confidence: float | None = None
    model: str = ""
    status: str = ""
    step: str = ""
    left_out: str = ""
    gap: str = ""
    shown: str = ""
