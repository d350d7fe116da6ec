"""The server process of the small local model; `oversight.harness.llm.local` starts it.

``python -m oversight.harness.llm.local.serve WEIGHTS PORT`` serves until it receives SIGTERM or SIGINT.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from typing import Any

from oversight.harness.llm.local.lifecycle import LocalServer, local_folder
from oversight.harness.output import say

_SLOTS, _CONTEXT = 2, 2048
# Messages are joined unchanged, so that the model receives a few-shot prompt as it was written.
_RAW_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def main(weights: str, port: str) -> int:
    """Serve until a stop signal arrives.

    Parameters
    ----------
    weights
        Path of the model's GGUF file.
    port
        Port to listen on; 0 selects a free port.
    """
    folder = local_folder()
    # Block the signals in all threads started from here on, so that only sigwait below receives them.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
    loading = LocalServer(pid=os.getpid(), url="")
    folder.write_state(loading)
    try:
        server = _serve(weights, int(port), loading.model)
        folder.write_state(replace(loading, url=f"{server.listening_address}/v1"))
        signal.sigwait([signal.SIGTERM, signal.SIGINT])
    except (ImportError, RuntimeError) as error:
        say(str(error))  # without a traceback, which would hide the message
        return 1
    finally:
        folder.state_file.unlink(missing_ok=True)
    return 0


def _serve(weights: str, port: int, model: str) -> Any:
    # Waiting threads must sleep, because spinning threads would slow down other processes.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {model}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.cors_origins = "http://127.0.0.1"  # so that web pages cannot use the model
    params.ui = False
    params.chat_template = _RAW_TEMPLATE
    params.n_parallel, params.n_ctx = _SLOTS, _SLOTS * _CONTEXT
    params.cache_ram_mib = 256
    params.verbosity = 1  # log errors only; other levels log every request
    # Count only usable cores, because a container may have fewer cores than the machine.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for pool in (params.cpuparams, params.cpuparams_batch):
        pool.n_threads, pool.poll = min(4, cores or 1), 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
