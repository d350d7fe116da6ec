"""The process that serves the small local model; `harness.llm.local.lifecycle.start_local_model` runs it.

``python -m harness.llm.local.serve DIRECTORY WEIGHTS PORT`` takes the server's lock in DIRECTORY,
forks, and returns: the child is the server and keeps the lock until it ends.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from harness.llm.local.state import LOCAL_MODEL, ServerState, remove_state, write_state
from harness.machine import hold_lock

_SLOTS, _CONTEXT = 2, 2048
# Messages are joined as they are: a few-shot prompt reaches the model as it was written.
_RAW_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def main(argv: list[str]) -> int:
    """Take the lock, go to the background and serve until told to end.

    Parameters
    ----------
    argv
        The directory of the state, the path of the weights, and the port (0: any free one).
    """
    directory, weights, port = Path(argv[0]), argv[1], int(argv[2])
    hold_lock(directory)
    # Forked before anything starts a thread. The lock belongs to the open file, hence to the child.
    if os.fork():
        return 0
    # Blocked in every thread started from here on, so that only sigwait below sees them.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
    write_state(directory, ServerState(pid=os.getpid()))
    try:
        server = _serve(weights, port)
        write_state(directory, ServerState(pid=os.getpid(), url=f"{server.listening_address}/v1"))
        signal.sigwait([signal.SIGTERM, signal.SIGINT])
    except (ImportError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")  # after what the library has logged; a traceback would bury it
        return 1
    finally:
        remove_state(directory)
    return 0


def _serve(weights: str, port: int) -> Any:
    # Threads that wait for work must sleep: spinning, they take the cores from everything else.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {LOCAL_MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.cors_origins = "http://127.0.0.1"  # no web page may use the model
    params.ui = False
    params.chat_template = _RAW_TEMPLATE
    params.n_parallel, params.n_ctx = _SLOTS, _SLOTS * _CONTEXT
    params.cache_ram_mib = 256
    params.verbosity = 1  # errors: above, each request logs
    for pool in (params.cpuparams, params.cpuparams_batch):
        pool.n_threads, pool.poll = _threads(), 0
    return xllamacpp.Server(params)


def _threads() -> int:
    # A container may own fewer cores than the machine has.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(4, cores or 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
