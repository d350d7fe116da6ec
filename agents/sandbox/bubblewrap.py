"""The third tier: the second one in namespaces of its own, made by bubblewrap (Linux).

The worker sees a file system of Python's own files, read-only, no network device, no other process,
and no user but nobody; inside it every session is locked down as on the second tier.
"""

from __future__ import annotations

import shutil
import sys

from agents.sandbox.cpython import ZYGOTE, CPythonSandbox
from harness import SandboxError

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache")


class BubblewrapSandbox(CPythonSandbox):
    """Runs programs in forks of a worker inside bubblewrap; see `agents.sandbox.base.Sandbox`."""

    name = "bubblewrap"
    around = "namespaces of its own, "

    def command(self) -> list[str]:
        """The worker's command line, behind bubblewrap's."""
        wrap = shutil.which("bwrap")
        if wrap is None:
            raise SandboxError("bubblewrap is not installed (program bwrap)")
        jail = str(ZYGOTE.parent)
        seen = [*_SYSTEM, sys.base_prefix]
        return [
            *(
                wrap,
                "--unshare-all",
                "--uid",
                "65534",
                "--gid",
                "65534",
                "--cap-drop",
                "ALL",
                "--die-with-parent",
            ),
            *("--new-session", "--clearenv", "--hostname", "sandbox", "--dev", "/dev", "--chdir", "/"),
            *(word for path in dict.fromkeys(seen) for word in ("--ro-bind-try", path, path)),
            *("--ro-bind", jail, jail, "--"),
            *super().command(),
        ]
