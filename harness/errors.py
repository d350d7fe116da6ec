"""Every error this project raises on purpose.

::

    OversightError                  exit code 1: the work failed
    ├── BadInput                    exit code 2: something given is wrong; nothing was changed
    │   ├── DataError               a file: names file, line and field
    │   ├── ConfigError             study.toml, an option or an environment variable
    │   ├── StoreError              the study database: unreadable, newer, of another study
    │   │   ├── LostConnection      its server went away (exit code 1)
    │   │   ├── FullDisk            no room to write (exit code 1)
    │   │   └── LostDatabase        it was moved, deleted or replaced while a command ran (exit code 1)
    │   ├── WrongType               a value of a kind that the function does not take (also a TypeError)
    │   └── ProgramRefused          a workflow's source: what it may not use, or a failed smoke run
    ├── EstimateError               exit code 2: the estimate is not defined for these data
    │   └── NotIdentified           the data cannot tell, however many there are
    ├── LabelStudioError            a Label Studio server: does not answer, or answers nonsense
    ├── SandboxError                the sandbox could not be started, or broke of itself
    ├── BudgetSpent                 the next call might cost more than is left
    ├── RunHeld                     another process is working on the run
    └── ModelError                  a model call
        ├── TransientModelError     worth another try: rate limit, server error, time-out
        │   └── NoReply             empty, cut or refused whatever was tried: due to what was asked
        └── FatalModelError         no try will help: authentication, unknown model
            └── RefusedRequest      this request (such as HTTP 400 or 413); the next may pass

    Stopped (a KeyboardInterrupt)   exit code 130 or 143: a signal ended the work
"""

from __future__ import annotations

import errno
from enum import StrEnum

from oversight.harness.output import redact, shorten


class Fault(StrEnum):
    """Why a call failed that may succeed another time; summaries count by it."""

    RATE_LIMIT = "rate limit"
    OVERLOADED = "overloaded"
    SERVER = "server error"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    MALFORMED = "malformed response"
    WRONG_MODEL = "wrong model"
    PROGRAM = "program error"
    EXPIRED = "batch expired"
    LOST = "lost"
    REFUSED = "refused"
    UNEXPECTED = "unexpected error"


class OversightError(Exception):
    """Base of all errors; `exit_code` is what the command line returns. No message shows a known secret.

    Examples
    --------
    >>> try:
    ...     raise ConfigError("model.endpoint: names no server")
    ... except OversightError as error:
    ...     print(f"exit code {error.exit_code}: {error}")
    exit code 2: model.endpoint: names no server
    """

    exit_code = 1

    def __init__(self, *parts: object) -> None:
        super().__init__(*(redact(part) if isinstance(part, str) else part for part in parts))


class BadInput(OversightError):
    """Something given is wrong. The message names it and the remedy; nothing was changed.

    Examples
    --------
    >>> import oversight as ov
    >>> ov.read_preset("medqa", "questions.parquet", revision="main")
    Traceback (most recent call last):
        ...
    oversight.harness.errors.BadInput: revision: only for data sets of the hub; leave it out ...
    """

    exit_code = 2


class DataError(BadInput):
    """A row of a file is wrong.

    Parameters
    ----------
    message
        The error and its remedy.
    file
        Path of the file as the user wrote it.
    line
        Line (text formats) or row (Parquet), counted from 1.
    field
        Column or key.

    Attributes
    ----------
    reason
        The message without the place.

    Examples
    --------
    >>> print(DataError("must be a number", file="items.csv", line=3, field="age"))
    items.csv:3 [age]: must be a number
    """

    def __init__(
        self, message: str, *, file: object = None, line: int | None = None, field: str | None = None
    ) -> None:
        where = _name_place(file, line, field)
        super().__init__(f"{where}: {message}" if where else message)
        self.file, self.line, self.field, self.reason = file, line, field, redact(message)


class InMemory(str):
    """In place of a file's name: what holds the rows has none; they count from 0, as in ``frame.iloc``."""

    __slots__ = ()


def _name_place(file: object, line: int | None, field: str | None) -> str:
    """``items.csv:3 [text]``, or ``frame, row 3, column 'text'`` of what is no file."""
    if isinstance(file, InMemory):
        row = "" if line is None else f", row {line}"
        return f"{file}{row}" + ("" if field is None else f", column {field!r}")
    where = str(file) if file is not None else ""
    if line is not None:
        where += f":{line}"
    if field is not None:
        where += f" [{field}]" if where else f"[{field}]"
    return where


class ConfigError(BadInput):
    """A setting in study.toml, on the command line or in the environment is wrong.

    Examples
    --------
    >>> ConfigError("budget_usd: must be above 0").exit_code
    2
    """


class StoreError(BadInput):
    """The study database cannot be used as it is.

    Examples
    --------
    >>> isinstance(LostDatabase("study.db: was moved"), StoreError)
    True
    """


class LostConnection(StoreError):
    """The server of the study database went away while something was done there.

    Parameters
    ----------
    message
        What was lost.
    may_be_done
        Whether it may have been stored nevertheless, as its end is unknown.
    """

    exit_code = 1

    def __init__(self, message: str, *, may_be_done: bool = False) -> None:
        super().__init__(message)
        self.may_be_done = may_be_done


class FullDisk(StoreError):
    """The disk has no room for what was to be written; what was stored before stays."""

    exit_code = 1


class LostDatabase(StoreError):
    """The study database was moved, deleted, replaced or overwritten while a command worked with it."""

    exit_code = 1


def is_full(error: OSError) -> bool:
    """Whether a disk, a quota or a limit on the size of files leaves no room to write."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class WrongType(BadInput, TypeError):
    """A value is of a kind that the function does not take.

    Parameters
    ----------
    name
        Of the argument.
    expected
        What it may be, in words.
    given
        What it is.
    """

    def __init__(self, name: str, expected: str, given: object) -> None:
        kind = f"the text {shorten(given)}" if isinstance(given, str) else type(given).__name__
        super().__init__(f"{name}: expected {expected}, got {kind}")


class ProgramRefused(BadInput):
    """A workflow's source was refused before any call was paid for; the message says why.

    Examples
    --------
    >>> from oversight.agents.sandbox.gate import check_program
    >>> from oversight.harness.types import Program
    >>> check_program(Program("curious", "import os"))
    Traceback (most recent call last):
        ...
    oversight.harness.errors.ProgramRefused: workflow 'curious', line 1: may not import os
    """


class EstimateError(OversightError, ValueError):
    """An estimate is undefined for these data; names the argument, the bound and the value.

    Examples
    --------
    >>> import oversight as ov
    >>> ov.estimate_counts(4, S_o=5, n_o=3, S_c=0, n_c=0)
    Traceback (most recent call last):
        ...
    oversight.harness.errors.EstimateError: S_o must be at most n_o = 3, is 5
    """

    exit_code = 2


class NotIdentified(EstimateError):
    """The data do not determine the quantity, however many labels are collected.

    Examples
    --------
    >>> from oversight.harness.panel import hlpi
    >>> hlpi([0.4], [0.0])
    Traceback (most recent call last):
        ...
    oversight.harness.errors.NotIdentified: the people's median agreement must exceed 0, is 0
    """


class LabelStudioError(OversightError):
    """A Label Studio server could not be started, does not answer, or lost something.

    Examples
    --------
    >>> LabelStudioError("http://localhost:8080: no answer").exit_code
    1
    """


class BudgetSpent(OversightError):
    """The limit on dollars or tokens leaves no room for the next call; what was done is stored.

    Examples
    --------
    >>> import oversight as ov
    >>> items = ov.read_items("data/questions.jsonl")
    >>> ov.run(lambda prompt: "### A", items, store="sqlite://", budget_requests=1)
    Traceback (most recent call last):
        ...
    oversight.harness.errors.BudgetSpent: the budget of 1 requests is spent: 1 used
    """


class RunHeld(OversightError):
    """Another process is working on the run, or took it over; the message says who."""


class SandboxError(OversightError):
    """The sandbox itself failed; what it ran is not to blame.

    Examples
    --------
    >>> SandboxError("the worker did not start").exit_code
    1
    """


class ModelError(OversightError):
    """A call to a model failed.

    Examples
    --------
    >>> import oversight as ov
    >>> FatalModelError("the key was refused").exit_code, TransientModelError("HTTP 503").fault.value
    (2, 'server error')
    """


class TransientModelError(ModelError):
    """A failure that may pass.

    Parameters
    ----------
    message
        What the endpoint said.
    fault
        What kind of failure it is.
    retry_after
        Seconds the endpoint asked to wait, if it did.
    sent
        Whether the request may have reached the endpoint, which then may ask to be paid for it.
    in_reply
        Whether it came in a reply of status 200, which is paid for as a rule.
    used
        Tokens sent and received, if the endpoint said what the failed call used.
    """

    def __init__(
        self,
        message: str,
        *,
        fault: Fault = Fault.SERVER,
        retry_after: float | None = None,
        sent: bool = True,
        in_reply: bool = False,
        used: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.fault, self.retry_after, self.sent, self.in_reply = fault, retry_after, sent, in_reply
        self.used = used


class NoReply(TransientModelError):
    """The endpoint answers, but not this: the reply stays empty or cut, or the request is refused.

    The request is the cause, as the same endpoint answers other requests.
    """

    BEGINS = "no usable reply: "

    def __init__(self, why: str) -> None:
        super().__init__(f"{self.BEGINS}{why}", fault=Fault.REFUSED)


class FatalModelError(ModelError):
    """A failure that every repetition would give, such as a refused key or an unknown model."""

    exit_code = 2


class RefusedRequest(FatalModelError):
    """The endpoint refuses this request, as it is too long, forbidden or unknown there; another may pass.

    Parameters
    ----------
    message
        What the endpoint said.
    status
        The HTTP status; 404 and 403 are as a rule about the model or the key, all others about the request.
    """

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Stopped(KeyboardInterrupt):
    """A signal ended the work, and what was finished by then is stored; `exit_code` is the shell's for it."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.exit_code = 128 + signal


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended tasks which ran together; the others followed from it."""
    error = group.exceptions[0]
    return first_of(error) if isinstance(error, BaseExceptionGroup) else error
