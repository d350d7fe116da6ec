"""What happens on a node of a cluster: its worker asks, beside a server of the model if one is wanted."""

from __future__ import annotations

import ctypes
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from oversight.harness.distribution import VERSION
from oversight.harness.errors import ConfigError, ModelError, OversightError
from oversight.harness.registry import load_module

_READY = 1800.0
"""Seconds that a server has to load its model; weights may have to be fetched first."""
_LOOK = 0.5
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """What a worker on a node is told.

    Attributes
    ----------
    url, work
        The study's database, and the id of what is joined in it.
    keys
        Environment variables that are secret, as they are where the work was begun; never shown.
    serve
        Words of the command that serves the model there; empty starts none.
    ports
        Those on the loopback interface at which it must answer.
    is_local
        Whether a model's endpoint is ``"local"``, the small model of that node.
    """

    url: str
    work: str
    keys: Mapping[str, str] = field(repr=False)
    serve: Sequence[str] = ()
    ports: Sequence[int] = ()
    is_local: bool = False
    version: str = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What a worker did: by model what came of it, or why it could not work."""

    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    error: str = ""


def work_on_node(joining: Joining) -> Joined:
    """Join what is under way as ``oversight worker`` does; runs in a process that ends with it."""
    from oversight.harness.analysis import join_study_runs
    from oversight.harness.store import Store

    if joining.version != VERSION:
        return Joined(error=f"the node has oversight {VERSION}, and {joining.version} is wanted")
    os.umask(0o077)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where a script began it in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # else no word to stop is heard
    os.environ.update(joining.keys)
    os.environ["TQDM_DISABLE"] = "1"  # the bar is where the work was begun
    try:
        with ExitStack() as stack:
            if joining.serve:
                stack.enter_context(serving(joining))
            if joining.is_local:
                stack.enter_context(_serving_locally())
            store = stack.enter_context(Store(joining.url))
            results = join_study_runs(store, set(), only=joining.work)
            load_module("oversight.agents.runtime").help_works(store, set(), results, only=joining.work)
            return Joined(results=results)
    except OversightError as error:
        return Joined(error=str(error))
    except KeyboardInterrupt:
        return Joined()


@contextmanager
def serving(joining: Joining) -> Iterator[None]:
    """Serve a model while the block lasts; where its ports answer already, nothing is started."""
    if all(map(_answers, joining.ports)):
        yield
        return
    words, quiet = list(joining.serve), subprocess.DEVNULL
    try:
        process = subprocess.Popen(words, stdin=quiet, stdout=quiet, preexec_fn=_end_with_parent)  # noqa: S603, PLW1509  of who began the work; nothing else runs here
    except OSError as error:
        raise ConfigError(f"--serve: {joining.serve[0]}: {error.strerror}") from None
    try:
        deadline = time.monotonic() + _READY
        while not all(map(_answers, joining.ports)):
            if process.poll() is not None:
                raise ModelError(f"--serve: {joining.serve[0]} ended with exit code {process.returncode}")
            if time.monotonic() > deadline:
                raise ModelError(f"--serve: nothing answers at port {joining.ports[0]} after {_READY:.0f} s")
            time.sleep(_LOOK)
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _answers(port: int) -> bool:
    """Whether a server there is ready: many listen at once, and say so while they load their model."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with closing(connection), suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/health")  # unknown to some, who then say 404
        return connection.getresponse().status != http.HTTPStatus.SERVICE_UNAVAILABLE
    return False


@contextmanager
def _serving_locally() -> Iterator[None]:
    """Have the small model run on this node, which is left as it was."""
    from oversight.harness.llm import find_local_model, start_local_model, stop_local_model

    was_running = find_local_model() is not None
    start_local_model()
    try:
        yield
    finally:
        if not was_running:
            stop_local_model()
