"""A real Ray cluster of two nodes on this machine, which leaves no process behind, whatever happens."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

QUIET = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
_MEMORY = "80000000"


@dataclass(frozen=True)
class RayCluster:
    """A cluster that runs: its address, where it keeps its logs, and the nodes as groups of processes."""

    address: str
    folder: Path
    nodes: list[subprocess.Popen[bytes]]

    def kill(self, number: int) -> None:
        """End all processes of a node without warning."""
        end(self.nodes[number])

    def add_node(self) -> None:
        """Start another node, with a separate address."""
        words = [f"--address={self.address}", f"--node-ip-address=127.0.0.{len(self.nodes) + 1}"]
        self.nodes.append(_start(self.folder, f"node{len(self.nodes)}", words))

    def find_text(self, text: str) -> list[str]:
        """Files of the cluster in which a text stands, and processes that have it among their words."""
        wanted = text.encode()
        files = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        found = [str(path) for path in files if wanted in path.read_bytes()]
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if wanted in path.read_bytes():
                    found.append(str(path))
        return found


@contextmanager
def ray_cluster() -> Iterator[RayCluster]:
    """Start two nodes; a node that tests add is ended with them."""
    with tempfile.TemporaryDirectory(prefix="ov-ray", ignore_cleanup_errors=True) as name:
        folder, nodes = Path(name), list[subprocess.Popen[bytes]]()
        head = ["--head", "--port=0", "--include-dashboard=false", f"--temp-dir={name}"]
        try:
            yield _start_both(folder, nodes, head)
        finally:
            for node in nodes:
                end(node)


def _start_both(folder: Path, nodes: list[subprocess.Popen[bytes]], head: list[str]) -> RayCluster:
    nodes.append(_start(folder, "node0", head))
    said = (folder / "node0.log").read_text()
    address = re.findall(r"--address='([^']+)'", said)[0]
    cluster = RayCluster(address, folder, nodes)
    cluster.add_node()
    return cluster


def _start(folder: Path, name: str, words: list[str]) -> subprocess.Popen[bytes]:
    """Start a node in a separate process group and wait until it is ready."""
    log = folder / f"{name}.log"
    ray = Path(sys.executable).with_name("ray")
    start = [str(ray), "start", "--block", "--num-cpus=2", f"--object-store-memory={_MEMORY}", *words]
    with log.open("wb") as file:
        env = {**os.environ, **QUIET}
        node = subprocess.Popen(
            start,
            stdout=file,
            stderr=file,
            env=env,
            start_new_session=True,
            preexec_fn=_begin_in_background,  # noqa: PLW1509  nothing else runs here
        )
    try:
        deadline, quiet = time.monotonic() + 120, threading.Event()
        while "runtime started" not in log.read_text():
            assert node.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            quiet.wait(0.1)
    except BaseException:
        end(node)
        raise
    return node


def _begin_in_background() -> None:
    """As a script begins a node, which ignores interrupts then; it ends when these tests are killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def end(node: subprocess.Popen[bytes]) -> None:
    """End a node's whole group."""
    with suppress(ProcessLookupError):
        os.killpg(node.pid, signal.SIGKILL)
    node.wait()
