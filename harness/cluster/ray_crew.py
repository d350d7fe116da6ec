"""Workers that Ray places on nodes, in a new process each; one whose node is lost is placed anew.

Ray starts them, and no more than that: who works on what, and what became of it, stands in the database.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from oversight.harness.cluster.node_work import Joining, work_on_node
from oversight.harness.cluster.placement import Placement
from oversight.harness.config import LOCAL_ENDPOINT, ModelSection
from oversight.harness.errors import ConfigError
from oversight.harness.output import counted, say

_LOOPBACK = re.compile(r"localhost|127\..*|::1")
_END = 20.0
"""Seconds that workers have to end once all is answered, or they are told to stop."""
_OWN = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
_MEMORY = 100_000_000
"""Bytes for objects that tasks share, of a cluster of this command's own: they share none."""


class RayCrew:
    """Workers on a Ray cluster, see `oversight.harness.llm.Crew`.

    Parameters
    ----------
    url
        The study's database.
    models
        Those that are asked: whose keys the workers need, and what a node must serve.

    Raises
    ------
    ConfigError
        If a server is to be started on every node, and no model is asked there.
    """

    def __init__(self, url: str, placement: Placement, models: Iterable[ModelSection]) -> None:
        self._url, self._placement = url, placement
        asked = list(models)
        names = {"PGPASSWORD", *(model.api_key_env for model in asked)}
        self._keys = {name: os.environ[name] for name in sorted(names) if os.environ.get(name)}
        self._is_local = any(model.endpoint == LOCAL_ENDPOINT for model in asked)
        self._ports = sorted(set(_find_ports(asked))) if placement.serve else []
        if placement.serve and not self._ports:
            raise ConfigError(
                "--serve: no model has an endpoint on the node itself, such as http://127.0.0.1:8000/v1"
            )
        self.brings_endpoints = bool(placement.serve)
        self.asked, self.stopped = Counter[str](), dict[str, str]()
        self._under_way = list[Any]()

    @contextmanager
    def working(self, work: str) -> Iterator[None]:
        """Have workers on what has this id in the database while the block lasts; then wait for their end."""
        ray = _load_ray()
        with _connected(self._placement.address):
            joining = Joining(
                url=self._url,
                work=work,
                keys=self._keys,
                serve=self._placement.serve,
                ports=self._ports,
                is_local=self._is_local,
            )
            number = self._count_places()
            resources = dict(self._placement.resources)
            own = {_OWN[name]: resources.pop(name) for name in list(resources) if name in _OWN}
            remote = ray.remote(
                **({"num_cpus": 0} | own),
                resources=resources,
                max_calls=1,  # the keys end with the process
                max_retries=-1,  # where a node is lost
                scheduling_strategy="SPREAD",
            )(work_on_node)
            self._under_way = [remote.remote(joining) for _ in range(number)]
            try:
                yield
                self._wait()
            finally:
                for one in self._under_way:
                    ray.cancel(one)  # as Ctrl-C does: what is under way has some seconds to come
                self._wait()

    def is_working(self) -> bool:
        """Whether any worker works, or waits for a place."""
        ray = _load_ray()
        ended, self._under_way = (
            ray.wait(self._under_way, num_returns=len(self._under_way), timeout=0)
            if self._under_way
            else ([], [])
        )
        for one in ended:
            self._take_in(one)
        return bool(self._under_way)

    def _take_in(self, ended: Any) -> None:
        ray = _load_ray()
        try:
            joined = ray.get(ended)
        except ray.exceptions.TaskCancelledError:
            return
        except ray.exceptions.RayError as error:
            why = str(getattr(error, "cause", None) or error).strip().splitlines()
            text = why[-1] if why else type(error).__name__
            hint = "; every node needs the same oversight, with its extra ray" if "No module" in text else ""
            self._note_failure(f"a worker on Ray failed: {text}{hint}")
            return
        if joined.error:
            self._note_failure(f"a worker on Ray could not work: {joined.error}")
        for name, result in joined.results.items():
            self.asked[name] += result["asked_now"]
            if "stopped" in result:
                self.stopped.setdefault(name, result["stopped"])

    def _note_failure(self, why: str) -> None:
        if self.stopped.setdefault("", why) is why:
            say(why)

    def _wait(self) -> None:
        deadline = time.monotonic() + _END
        while self.is_working() and time.monotonic() < deadline:
            time.sleep(0.1)

    def _count_places(self) -> int:
        """How many workers to start; says so where there is no room for any yet."""
        ray = _load_ray()
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        wanted = self._placement.resources
        room = sum(all(node.get(name, 0) >= n for name, n in wanted.items()) for node in nodes)
        number = self._placement.workers or max(1, room)
        say(f"Ray: {counted(number, 'worker')} on {counted(len(nodes), 'node')}")
        if not room:
            takes = ", ".join(f"{name}={n:g}" for name, n in wanted.items())
            say(f"Ray: no node has {takes}; the workers wait for one that has")
        return number


def _find_ports(models: Iterable[ModelSection]) -> Iterator[int]:
    """Ports of endpoints on the node itself."""
    for model in models:
        address = urlsplit(model.endpoint)
        if address.port is not None and _LOOPBACK.fullmatch(address.hostname or ""):
            yield address.port


def _load_ray() -> Any:
    """Ray, which is heavy, and takes more kinds of arguments than its types tell."""
    return import_module("ray")


@contextmanager
def _connected(address: str | None) -> Iterator[None]:
    """Be connected to a cluster, or to one of this command's own, which ends with the block."""
    ray = _load_ray()
    if ray.is_initialized():  # by the program that calls
        yield
        return
    own: Mapping[str, Any] = {"include_dashboard": False, "object_store_memory": _MEMORY}
    os.environ.setdefault("RAY_COLOR_PREFIX", "0")
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing of a study is told to anybody
    try:
        ray.init(
            address=address or "local",
            logging_level=logging.ERROR,
            **(own if address is None else {}),
        )
    except (ConnectionError, ValueError, RuntimeError, ImportError, OSError) as error:
        why = str(error).strip().splitlines()
        raise ConfigError(f"--on ray: {why[0] if why else type(error).__name__}") from None
    try:
        if threading.current_thread() is threading.main_thread():
            # Ray's own would leave its workers alone
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        yield
    finally:
        ray.shutdown()
