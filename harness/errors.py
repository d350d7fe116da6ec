"""The errors that this project raises.

::

    OversightError                  exit code 1: the work failed
    ├── BadInput                    exit code 2: an input is wrong; nothing was changed
    │   ├── DataError               a file is wrong; the message names file, line and field
    │   ├── ConfigError             a setting in study.toml, an option or an environment variable is wrong
    │   ├── StoreError              the study database is unreadable, too new, or of another study
    │   │   ├── LostConnection      the connection to the database server was lost (exit code 1)
    │   │   ├── FullDisk            the disk is full (exit code 1)
    │   │   └── LostDatabase        the database was moved, deleted or replaced while in use (exit code 1)
    │   ├── WrongType               an argument has the wrong type (also a TypeError)
    │   └── ProgramRefused          a workflow's source uses something forbidden, or its test run failed
    ├── EstimateError               exit code 2: the estimate is undefined for these data
    │   └── NotIdentified           the data do not determine the quantity, however many there are
    ├── LabelStudioError            a Label Studio server does not answer, or its answer is invalid
    ├── SandboxError                the sandbox could not be started, or failed
    ├── BudgetSpent                 the next call might cost more than the remaining budget
    ├── RunHeld                     another process is working on the run
    └── ModelError                  a call to a model failed
        ├── TransientModelError     a retry may succeed: rate limit, server error, timeout
        │   └── NoReply             this request gets empty, cut or refused replies at every retry
        └── FatalModelError         no retry can succeed: authentication, unknown model
            └── RefusedRequest      this request is refused (HTTP 400, 413 …); other requests may succeed

    Stopped (a KeyboardInterrupt)   exit code 130 or 143: a signal ended the work
"""

from __future__ import annotations

import errno
from enum import StrEnum

from oversight.harness.output import redact, shorten


class Fault(StrEnum):
    """Kind of failure of a call that may succeed at another time; summaries count failures by kind."""

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
    """Base class of all errors. The command line returns `exit_code`; messages mask registered secrets.

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
    """An input is wrong, and nothing was changed. The message names the input and the remedy.

    Examples
    --------
    >>> import oversight as ov
    >>> ov.read_preset("medqa", "questions.parquet", revision="main")
    Traceback (most recent call last):
        ...
    oversight.harness.errors.BadInput: revision: applies only to data sets of the hub; leave it out ...
    """

    exit_code = 2


class DataError(BadInput):
    """A row of a file is wrong.

    Parameters
    ----------
    message
        The error and its remedy.
    file
        Path of the file as the user wrote it; None if unknown.
    line
        Number of the line (text formats) or row (Parquet), from 1; None if unknown.
    field
        Name of the column or key; None if unknown.

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
    """Description of rows in memory, instead of a file's name; such rows count from 0, as in ``iloc``."""

    __slots__ = ()


def _name_place(file: object, line: int | None, field: str | None) -> str:
    """Return for example ``items.csv:3 [text]``, or ``frame, row 3, column 'text'`` for rows in memory."""
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
    """The study database cannot be used.

    Examples
    --------
    >>> isinstance(LostDatabase("study.db: was moved"), StoreError)
    True
    """


class LostConnection(StoreError):
    """The connection to the server of the study database was lost during an operation.

    Parameters
    ----------
    message
        Text of the error.
    may_be_done
        Whether the operation may have been completed nevertheless.
    """

    exit_code = 1

    def __init__(self, message: str, *, may_be_done: bool = False) -> None:
        super().__init__(message)
        self.may_be_done = may_be_done


class FullDisk(StoreError):
    """The disk is full, so the data were not written; data stored before remain."""

    exit_code = 1


class LostDatabase(StoreError):
    """The study database was moved, deleted, replaced or overwritten while a command used it."""

    exit_code = 1


def is_full(error: OSError) -> bool:
    """Return whether a write failed because of a full disk, a quota, or a limit on file sizes."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class WrongType(BadInput, TypeError):
    """An argument has a type that the function does not accept.

    Parameters
    ----------
    name
        Name of the argument.
    expected
        Description of the accepted values.
    given
        The value that was given.
    """

    def __init__(self, name: str, expected: str, given: object) -> None:
        kind = f"the text {shorten(given)}" if isinstance(given, str) else type(given).__name__
        super().__init__(f"{name}: expected {expected}, got {kind}")


class ProgramRefused(BadInput):
    """A workflow's source was refused before any paid call; the message says why.

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
    """An estimate is undefined for these data; the message names the argument, its bound and its value.

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
    """A Label Studio server could not be started, does not answer, or lost data.

    Examples
    --------
    >>> LabelStudioError("http://localhost:8080: no answer").exit_code
    1
    """


class BudgetSpent(OversightError):
    """The budget does not allow the next call; results of earlier calls are stored.

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
    """Another process is working on the run, or took it over; the message names the process."""


class SandboxError(OversightError):
    """The sandbox itself failed, not the program that it ran.

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
    """A call to a model failed, but a retry may succeed.

    Parameters
    ----------
    message
        Message of the endpoint.
    fault
        Kind of the failure.
    retry_after
        Seconds that the endpoint asked to wait; None if it did not.
    sent
        Whether the request may have reached the endpoint, which may then charge for it.
    in_reply
        Whether the failure came in a reply with status 200, which endpoints usually charge for.
    used
        Numbers of tokens sent and received; None if the endpoint did not report them.
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
    """At every retry, the endpoint's reply to this request is unusable: empty, cut off or a refusal.

    The cause is the request, because the same endpoint answers other requests.
    """

    BEGINS = "no usable reply: "

    def __init__(self, why: str) -> None:
        super().__init__(f"{self.BEGINS}{why}", fault=Fault.REFUSED)


class FatalModelError(ModelError):
    """A call to a model failed, and every retry would fail, for example because the model is unknown."""

    exit_code = 2


class OtherModelFirst(FatalModelError):
    """An endpoint answered first as another model, and then as the requested one."""


class RefusedRequest(FatalModelError):
    """The endpoint refuses this request, for example because it is too long; other requests may succeed.

    Parameters
    ----------
    message
        Message of the endpoint.
    status
        HTTP status; 403 and 404 usually concern the key or the model, other codes the request.
    """

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Stopped(KeyboardInterrupt):
    """A signal ended the work; earlier results are stored. `exit_code` is 128 + the signal's number."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.exit_code = 128 + signal


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of a group of concurrent tasks: the error that made the other tasks end."""
    error = group.exceptions[0]
    return first_of(error) if isinstance(error, BaseExceptionGroup) else error
