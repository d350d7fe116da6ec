"""The Ray actor on a cluster node: it makes model calls, and starts a model server if requested."""

from __future__ import annotations

import ctypes
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oversight.harness.distribution import VERSION
from oversight.harness.errors import ConfigError, ModelError, OversightError
from oversight.harness.registry import load_module

if TYPE_CHECKING:
    from oversight.harness.config import ModelSection
    from oversight.harness.llm import ModelReply, Request

_READY = 1800.0
"""Seconds within which a server must be ready; it may have to download the model's weights first."""
_LOOK = 0.5  # seconds between two checks whether the server is ready
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """Settings of an actor.

    Attributes
    ----------
    keys
        API keys by name of their environment variable, as set in the driver process; omitted from `repr`.
    serve
        Words of the command that serves the model on the node; if empty, no server is started.
    ports
        Ports of the loopback interface on which the server must answer before calls are made.
    is_local
        Whether some model has the endpoint ``"local"``, so the node must start the bundled small model.
    """

    keys: Mapping[str, str] = field(repr=False)
    serve: Sequence[str] = ()
    ports: Sequence[int] = ()
    is_local: bool = False
    version: str = VERSION


class NodeWorker:
    """Makes the calls that the driver sends. Methods return errors, because Ray would wrap raised errors.

    Parameters
    ----------
    settings
        Settings, the same for all actors of a command.
    """

    def __init__(self, settings: NodeSettings) -> None:
        os.umask(0o077)
        os.environ.update(settings.keys)
        self._settings = settings
        self._models = dict[str, Any]()
        self._services = dict[str, Any]()
        self._stack = ExitStack()
        self._is_ready = False

    async def open(self, key: str, settings: ModelSection) -> OversightError | None:
        """Create the client of a model, after starting its server if requested. Returns an error or None."""
        from oversight.harness.llm import make_model

        try:
            self._prepare()
            if key not in self._models:
                self._models[key] = make_model(settings)
        except OversightError as error:
            return error
        return None

    async def ask(self, key: str, request: Request) -> ModelReply | OversightError:
        """Make one call to a model that was opened under this key."""
        try:
            reply: ModelReply = await self._models[key].ask(request)
        except OversightError as error:
            return error
        return reply

    async def check(self, key: str) -> OversightError | None:
        """Check that a model's endpoint answers. Returns an error, or None if it does."""
        try:
            await self._models[key].check()
        except OversightError as error:
            return error
        return None

    async def stream(self, service: str, *args: Any) -> AsyncIterator[Any]:
        """Start the work of a service (``module:class``), and yield its messages."""
        async for message in self._find_service(service).work(*args):
            yield message

    async def send_message(self, service: str, *args: Any) -> None:
        """Forward a message to a service."""
        self._find_service(service).receive_message(*args)

    async def close(self) -> None:
        """Stop services and the model server."""
        for service in self._services.values():
            await service.close()
        self._stack.close()

    def _find_service(self, service: str) -> Any:
        """Return the instance of the class ``module:class``.

        The class is in a higher layer, so it is given as a text instead of being imported here.
        """
        if service not in self._services:
            module, _, name = service.partition(":")
            self._services[service] = getattr(load_module(module), name)()
        return self._services[service]

    def _prepare(self) -> None:
        settings = self._settings
        if self._is_ready:
            return
        if settings.version != VERSION:
            raise ConfigError(
                f"the node has oversight {VERSION}, but the run needs {settings.version}; "
                "install that version"
            )
        if settings.serve:
            self._stack.enter_context(serving(settings))
        if settings.is_local:
            self._stack.enter_context(_serving_locally())
        self._is_ready = True


@contextmanager
def serving(settings: NodeSettings) -> Iterator[None]:
    """Run the model server during the block, unless servers already answer at all its ports."""
    if all(map(_answers, settings.ports)):
        yield
        return
    words, quiet = list(settings.serve), subprocess.DEVNULL
    try:
        process = subprocess.Popen(words, stdin=quiet, stdout=quiet, preexec_fn=_end_with_parent)  # noqa: S603, PLW1509  of who began the work; nothing else runs here
    except OSError as error:
        raise ConfigError(f"--serve: {settings.serve[0]}: {error.strerror}") from None
    try:
        deadline = time.monotonic() + _READY
        while not all(map(_answers, settings.ports)):
            if process.poll() is not None:
                raise ModelError(f"--serve: {settings.serve[0]} ended with exit code {process.returncode}")
            if time.monotonic() > deadline:
                raise ModelError(
                    f"--serve: no server answers at port {settings.ports[0]} after {_READY:.0f} s"
                )
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
    """Whether a server is ready. Many servers listen early and reply 503 while they load their model."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with closing(connection), suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/health")  # a 404 reply also shows that the server is ready
        return connection.getresponse().status != http.HTTPStatus.SERVICE_UNAVAILABLE
    return False


@contextmanager
def _serving_locally() -> Iterator[None]:
    """Serve the bundled small model during the block; a server that was running before is not stopped."""
    from oversight.harness.llm import find_local_model, start_local_model, stop_local_model

    was_running = find_local_model() is not None
    start_local_model()
    try:
        yield
    finally:
        if not was_running:
            stop_local_model()
