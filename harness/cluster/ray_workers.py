"""Actors on a Ray cluster that make the model calls of this process, the driver.

Database, budget, rate limits and the cache of calls stay in the driver. Actors keep no results: if an actor's
process or node ends, Ray replaces it, and the driver repeats its calls.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import re
import shlex
import signal
import socket
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from oversight.harness.cluster.node_worker import NodeSettings, NodeWorker
from oversight.harness.config import LOCAL_ENDPOINT, ModelSection
from oversight.harness.distribution import require
from oversight.harness.errors import ConfigError, Fault, OversightError, TransientModelError
from oversight.harness.output import counted, say

_ALONE = ("workers", "serve")
"""Options that have an effect only with ``--on``."""
_ANSWERS = 10.0
"""Seconds within which a cluster must answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Number, resources and cluster of the workers.

    Attributes
    ----------
    address
        Address of the cluster, as for `ray.init`; None starts a temporary cluster on this machine.
    workers
        Number of workers; None for one worker per node with enough resources.
    resources
        Resources that each worker reserves on its node, by Ray's names: ``CPU``, ``GPU``, ``memory`` or
        custom resources of the cluster.
    serve
        Words of the command that serves the model on every node; if empty, no server is started.
    """

    address: str | None = None
    workers: int | None = None
    resources: Mapping[str, float]
    serve: tuple[str, ...] = ()


def add_placement(parser: argparse.ArgumentParser) -> None:
    """Add ``--on``, ``--workers`` and ``--serve`` to a parser."""
    add = parser.add_argument
    where = (
        "make calls from the nodes of a Ray cluster: auto (the cluster of this node), HOST:PORT (the cluster "
        "at this address) or ray (the cluster in RAY_ADDRESS, or else a new local cluster)"
    )
    add("--on", metavar="CLUSTER", help=where)
    workers = (
        "with --on: number of workers (default: one per node) and the resources that each worker "
        "reserves (default: CPU=1), for example 4,CPU=1,GPU=1"
    )
    add("--workers", metavar="N,NAME=N,...", help=workers)
    add(
        "--serve",
        metavar="COMMAND",
        help="with --on: command that serves the model on each node, such as 'vllm serve NAME --port 8000'",
    )


def read_placement(args: argparse.Namespace) -> Placement | None:
    """Return the placement that the parsed options describe; None without ``--on``.

    Raises
    ------
    ConfigError
        If the options contradict each other, or Ray is not installed.
    """
    if args.on is None:
        if given := [name for name in _ALONE if getattr(args, name) is not None]:
            raise ConfigError(f"--{given[0].replace('_', '-')} needs --on")
        return None
    number, resources = _read_workers(args.workers)
    require("ray", "--on", "ray")
    return Placement(
        address=_read_address(os.environ.get("RAY_ADDRESS") if args.on == "ray" else args.on),
        workers=number,
        resources=resources,
        serve=_read_command(args.serve),
    )


def _read_address(text: str | None) -> str | None:
    """Return the address for `ray.init`; None for a temporary cluster.

    An address that does not answer is refused here, because Ray would wait for minutes.
    """
    if not text or text == "local":
        return None
    if text == "auto":
        return text
    if "://" in text:
        raise ConfigError(
            f"--on: {text}: on a node of the cluster, give auto or HOST:PORT; on another machine, use: "
            "ray job submit -- oversight run --on auto"
        )
    host, _, port = text.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS):
            return text
    except (OSError, ValueError):
        raise ConfigError(f"--on: no cluster answers at {text!r}; give auto, HOST:PORT or ray") from None


def _read_workers(text: str | None) -> tuple[int | None, dict[str, float]]:
    """Return the number of workers (None if not given), and the resources that each worker reserves."""
    number, resources = None, dict[str, float]()
    for part in map(str.strip, [] if text is None else text.split(",")):
        name, is_resource, amount = part.partition("=")
        try:
            value = float(amount) if is_resource else int(part)
        except ValueError:
            value = -1.0
        if is_resource and name and 0 <= value < float("inf"):
            resources[name] = value
        elif not is_resource and number is None and value >= 1:
            number = int(value)
        else:
            raise ConfigError(
                f"--workers: give a number ≥ 1 or resources NAME=N, or both, such as 4,GPU=1, not {part!r}"
            )
    return number, resources or {"CPU": 1.0}


def _read_command(text: str | None) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text or ""))
    except ValueError as error:
        raise ConfigError(f"--serve: {error}") from None
    if text is not None and not words:
        raise ConfigError("--serve: give a command and its arguments")
    return words


if TYPE_CHECKING:
    from oversight.harness.llm import ModelReply, Request

_LOOPBACK = re.compile(r"localhost|127\..*|::1")
_END = 15.0
"""Seconds within which actors must stop their services before they are killed."""
_AGAIN = 0.5
"""Seconds between two attempts to reach an actor while Ray replaces it."""
_MOST = 100_000
"""Maximum number of concurrent calls per actor; `_RayModel` sets the effective, lower limit."""
_OWN = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
_MEMORY = 100_000_000
"""Bytes of Ray's object store in a cluster that this command starts; calls and replies are small."""


class WorkerLost(Exception):
    """An actor's process or node ended; its call may or may not have been made."""


class RayWorkers:
    """Actors on a Ray cluster (see `oversight.harness.llm.Workers`); leaving the context stops them.

    The cluster is connected or started when the first actor is needed.

    Parameters
    ----------
    models
        Models to be called. They determine which API keys the actors receive and at which ports servers must
        answer.

    Raises
    ------
    ConfigError
        If `placement` has a command that starts a model server, but no model has an endpoint on the loopback
        interface.
    """

    def __init__(self, placement: Placement, models: Iterable[ModelSection]) -> None:
        called = list(models)
        names = {model.api_key_env for model in called}
        ports = sorted(set(_find_ports(called))) if placement.serve else []
        if placement.serve and not ports:
            raise ConfigError(
                "--serve: no model has an endpoint on the node itself, such as http://127.0.0.1:8000/v1"
            )
        self._placement = placement
        self._settings = NodeSettings(
            keys={name: os.environ[name] for name in sorted(names) if os.environ.get(name)},
            serve=placement.serve,
            ports=ports,
            is_local=any(model.endpoint == LOCAL_ENDPOINT for model in called),
        )
        self._actors = list[Any]()
        self._turns: Iterator[Any] = iter(())
        self._is_own = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the actors, and the cluster if this object started it."""
        ray = _load_ray() if self._actors else None
        if ray is None:
            return
        with suppress(ray.exceptions.RayError):
            ray.wait([a.close.remote() for a in self._actors], num_returns=len(self._actors), timeout=_END)
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []
        if self._is_own:
            ray.shutdown()

    @property
    def actors(self) -> list[Any]:
        """All actors; the first access connects to the cluster and starts them."""
        if not self._actors:
            self._is_own = _connect(self._placement.address)
            self._actors = self._place()
            self._turns = cycle(self._actors)
        return self._actors

    @property
    def number(self) -> int:
        """Number of actors."""
        return len(self.actors)

    def make_model(self, settings: ModelSection, function: Callable[[str], Any] | None = None) -> _RayModel:
        """Create a client whose calls are made on the nodes.

        Raises
        ------
        ConfigError
            If the model is a function or program of this machine, because the nodes do not have it.
        """
        if function is not None or settings.python or settings.command:
            raise ConfigError(
                f"--on ray: the nodes do not have {settings.where!r}; leave out the model that needs it"
            )
        return _RayModel(self, settings)

    async def stream(self, service: str, *args: Any) -> AsyncIterator[tuple[Any, Any]]:
        """Run a service on the next actor in turn. Yields pairs of the actor and a message of the service.

        Raises
        ------
        WorkerLost
            If the actor is lost before the service ends.
        """
        assert self.actors  # noqa: S101  places them
        actor = next(self._turns)
        with _reporting_lost():
            async for reference in actor.stream.options(num_returns="streaming").remote(service, *args):
                yield actor, await reference

    def send_message(self, actor: Any, service: str, *args: Any) -> None:
        """Send a message to a service on an actor; the message is dropped if the actor is lost."""
        actor.send_message.remote(service, *args)

    def _place(self) -> list[Any]:
        ray, resources = _load_ray(), dict(self._placement.resources)
        number = self._count_places()
        own = {_OWN[name]: resources.pop(name) for name in list(resources) if name in _OWN}
        remote = ray.remote(
            **({"num_cpus": 0} | own),
            resources=resources,
            max_restarts=-1,  # Ray restarts an actor on another node if its node is lost
            max_concurrency=_MOST,
            scheduling_strategy="SPREAD",
        )(NodeWorker)
        return [remote.remote(self._settings) for _ in range(number)]

    def _count_places(self) -> int:
        """Return the number of actors to start, and print it; warn if no node has enough resources yet."""
        nodes = [node["Resources"] for node in _load_ray().nodes() if node["Alive"]]
        wanted = self._placement.resources
        room = sum(all(node.get(name, 0) >= n for name, n in wanted.items()) for node in nodes)
        number = self._placement.workers or max(1, room)
        say(f"Ray: {counted(number, 'worker')} on {counted(len(nodes), 'node')}")
        if not room:
            takes = ", ".join(f"{name}={n:g}" for name, n in wanted.items())
            say(f"Ray: no node has {takes}; the workers wait for such a node")
        return number


class _RayModel:
    """A model whose calls are made on the nodes.

    An instance can be used in only one event loop. Each actor takes at most
    `ModelSection.concurrency` calls at once (its places). If an actor is lost, only the
    calls in its places are lost; the places become free again when Ray has replaced the
    actor.
    """

    def __init__(self, workers: RayWorkers, settings: ModelSection) -> None:
        self._workers, self._settings, self._key = workers, settings, uuid.uuid4().hex
        self._places = asyncio.Queue[Any]()
        self._opening = set[asyncio.Task[None]]()
        self._usable = -1

    async def ask(self, request: Request) -> ModelReply:
        """Make a call on the first actor with a free place."""
        reply: ModelReply = await self._call("ask", request)
        return reply

    async def check(self) -> None:
        """Check from a node that the endpoint answers."""
        await self._call("check")

    async def close(self) -> None:
        """Cancel the tasks that wait for actors to open the model."""
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)

    async def _call(self, method: str, *args: Any) -> Any:
        if self._usable < 0:
            self._usable = self._workers.number
            for actor in self._workers.actors:
                self._start(self._open(actor, self._settings.concurrency))
        place = await self._places.get()
        if isinstance(place, OversightError):  # no actor can call the model
            self._places.put_nowait(place)
            raise place
        try:
            found = await _wait_for(getattr(place, method).remote(self._key, *args))
        except WorkerLost:
            self._start(self._open(place, 1))
            message = "the call was unfinished when its worker ended; the endpoint may have answered it"
            raise TransientModelError(message, fault=Fault.LOST) from None
        except BaseException:
            self._places.put_nowait(place)
            raise
        self._places.put_nowait(place)
        if isinstance(found, OversightError):
            raise found
        return found

    def _start(self, opening: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(opening)
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, actor: Any, places: int) -> None:
        """Open the model on an actor, then add the actor's free places.

        If the actor is lost, try again until Ray has replaced it.
        """
        error: OversightError | None
        while True:
            try:
                error = await _wait_for(actor.open.remote(self._key, self._settings))
                break
            except WorkerLost as lost:
                if isinstance(lost.__cause__, _load_ray().exceptions.ActorDiedError):
                    error = ConfigError(_describe(lost.__cause__))
                    break
                await asyncio.sleep(_AGAIN)
        if error is None:
            for _ in range(places):
                self._places.put_nowait(actor)
            return
        say(f"a Ray worker cannot call the model: {error}")
        self._usable -= 1
        if not self._usable:
            self._places.put_nowait(error)


async def _wait_for(reference: Any) -> Any:
    with _reporting_lost():
        return await asyncio.wrap_future(reference.future())


@contextmanager
def _reporting_lost() -> Iterator[None]:
    """Convert Ray's errors about a lost actor to `WorkerLost`."""
    ray = _load_ray()
    try:
        yield
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        raise WorkerLost from error


def _describe(error: BaseException) -> str:
    lines = str(getattr(error, "cause", None) or error).strip().splitlines()
    text = lines[-1] if lines else type(error).__name__
    hint = (
        "; every node needs the same version of oversight, with its extra ray"
        if "No module" in str(error)
        else ""
    )
    return f"{text}{hint}"


def _find_ports(models: Iterable[ModelSection]) -> Iterator[int]:
    """Yield the ports of endpoints that are on the node itself (loopback addresses)."""
    for model in models:
        address = urlsplit(model.endpoint)
        if address.port is not None and _LOOPBACK.fullmatch(address.hostname or ""):
            yield address.port


def _load_ray() -> Any:
    """Import Ray only when it is needed, because the import is slow.

    The return type is `Any`, because Ray's type hints are too narrow.
    """
    return import_module("ray")


def _connect(address: str | None) -> bool:
    """Connect to a cluster, or start one. Returns False if this process was already connected."""
    ray = _load_ray()
    if ray.is_initialized():
        return False
    own: Mapping[str, Any] = {"include_dashboard": False, "object_store_memory": _MEMORY}
    os.environ.setdefault("RAY_COLOR_PREFIX", "0")
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # otherwise Ray would send usage statistics
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address or "local",
            logging_level=logging.ERROR,
            **(own if address is None else {}),
        )
    except (ConnectionError, ValueError, RuntimeError, ImportError, OSError) as error:
        why = str(error).strip().splitlines()
        raise ConfigError(f"--on ray: {why[0] if why else type(error).__name__}") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)  # Ray's own handler would end this process at once
    return True
