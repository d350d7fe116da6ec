"""Programs that try to get out. Each returns a text with LOOT in it, or leaves a mark, if it does.

Filled in before use: CANARY (a file with a secret), OUT (a path to write), PORT (a listener on the
loopback interface), HOST (this process's id), DATABASE (a study with labels).
"""

# ruff: noqa: E501  a program each, on a line

from __future__ import annotations


def _attack(body: str, head: str = "") -> str:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return f"{head}\nasync def forward(task):\n{lines}\n"


_SHELL = "\"import os; os.system('touch OUT')\""
_WALK = """
for cls in ().__class__.__base__.__subclasses__():
    if cls.__name__ == "_wrap_close":
        return "LOOT" + str(cls.__init__.__globals__["popen"]("id").read())
"""

BODIES = {
    # files
    "open": 'return "LOOT" + open("CANARY").read()',
    "pathlib": 'import pathlib\nreturn "LOOT" + pathlib.Path("CANARY").read_text()',
    "os-open": 'import os\nreturn "LOOT" + str(os.read(os.open("CANARY", 0), 99))',
    "io-open": 'import io\nreturn "LOOT" + io.open("CANARY").read()',
    "codecs-open": 'import codecs\nreturn "LOOT" + codecs.open("CANARY").read()',
    "write": 'open("OUT", "w").write("x")\nreturn "LOOT"',
    "listdir": 'import os\nreturn "LOOT" + str(os.listdir("/"))',
    "glob": 'import glob\nfound = glob.glob("/*")\nreturn "LOOT" if found else "none"',
    "tempfile": 'import tempfile\nreturn "LOOT" + tempfile.mkdtemp()',
    "stat": 'import os\nos.stat("CANARY")\nreturn "LOOT"',
    "symlink": 'import os\nos.symlink("CANARY", "OUT")\nreturn "LOOT"',
    "chdir": 'import os\nos.chroot("/")\nos.mkdir("OUT")\nreturn "LOOT"',
    # the environment, /proc
    "environ": 'import os\nreturn "LOOT" if os.environ.get("OVERSIGHT_BAIT") else "none"',
    "getenv": 'from os import getenv\nreturn "LOOT" if getenv("OVERSIGHT_BAIT") else "none"',
    "proc-self-environ": 'return "LOOT" + open("/proc/self/environ").read()',
    "proc-host-environ": 'return "LOOT" + open("/proc/HOST/environ").read()',
    "proc-maps": 'return "LOOT" + open("/proc/self/maps").read()',
    "proc-fd": 'import os\nreturn "LOOT" + os.readlink("/proc/self/fd/0")',
    "proc-mem": 'return "LOOT" + str(open("/proc/HOST/mem", "rb").read(1))',
    # the network
    "socket": 'import socket\nsocket.create_connection(("127.0.0.1", PORT))\nreturn "LOOT"',
    "asyncio-socket": 'import asyncio\nawait asyncio.open_connection("127.0.0.1", PORT)\nreturn "LOOT"',
    "urlopen": 'from urllib.request import urlopen\nurlopen("http://127.0.0.1:PORT")\nreturn "LOOT"',
    "unix-socket": 'import socket\nsocket.socket(socket.AF_UNIX)\nreturn "LOOT"',
    "raw-socket": 'import _socket\n_socket.socket(2, 1)\nreturn "LOOT"',
    # processes
    "subprocess": 'import subprocess\nreturn "LOOT" + str(subprocess.run(["id"], capture_output=True))',
    "system": 'import os\nif os.system("touch OUT") == 0:\n    return "LOOT"\nreturn "none"',
    "fork": 'import os\nos.fork()\nreturn "LOOT"',
    "fork-bomb": "import os\nwhile True:\n    os.fork()",
    "fork-bomb-patient": 'import os\nfor _ in range(1000):\n    try:\n        os.fork()\n        return "LOOT"\n    except BaseException:\n        pass',
    "exec": f'import os\nos.execv("/usr/bin/python3", ["python3", "-c", {_SHELL}])\nreturn "LOOT"',
    "spawn": 'import os\nos.posix_spawn("/usr/bin/touch", ["touch", "OUT"], {})\nreturn "LOOT"',
    "asyncio-shell": 'import asyncio\nawait asyncio.create_subprocess_shell("touch OUT")\nreturn "LOOT"',
    "multiprocessing": 'import multiprocessing\nmultiprocessing.Process(target=print).start()\nreturn "LOOT"',
    "thread": 'import threading\nthreading.Thread(target=print).start()\nreturn "LOOT"',
    "kill-host": 'import os\nos.kill(HOST, 0)\nreturn "LOOT"',
    "kill-parent": 'import os\nos.kill(os.getppid(), 9)\nreturn "LOOT"',
    # memory and time
    "memory-bytes": 'return "LOOT" + str(len(bytearray(1 << 34)))',
    "memory-list": 'x = [0]\nwhile len(x) < 1 << 32:\n    x = x + x\nreturn "LOOT"',
    "memory-text": 'return "LOOT" + str(len("a" * 10**10))',
    "memory-number": 'return "LOOT" + str((10**10) ** (10**8))[:3]',
    "memory-mmap": 'import mmap\nx = mmap.mmap(-1, 1 << 34)\nx[:] = b"x" * (1 << 34)\nreturn "LOOT"',
    "loop": "while True:\n    pass",
    "loop-that-catches": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "loop-without-timer": "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0)\nwhile True:\n    pass",
    "loop-deaf": "import signal\nsignal.signal(signal.SIGPROF, signal.SIG_IGN)\nwhile True:\n    pass",
    "regex": 'import re\nre.match("(a+)+$", "a" * 64 + "b")\nreturn "none"',
    "recursion": "def f():\n    return f()\nreturn f()",
    "wait-for-ever": 'import asyncio\nawait asyncio.get_event_loop().create_future()\nreturn "none"',
    "sleep": 'import time\ntime.sleep(10**6)\nreturn "none"',
    "sleep-async": 'import asyncio\nawait asyncio.sleep(10**6)\nreturn "none"',
    "print-flood": 'while True:\n    print("x" * 10**6)',
    "answer-flood": 'return "LOOT" * 10**6',
    "call-flood": 'while True:\n    try:\n        await task.ask(["x"])\n    except Exception:\n        pass',
    "subclasses": _WALK,
    "globals-of-function": 'return "LOOT" + str(task.ask.__func__.__globals__["__builtins__"]["open"]("CANARY"))',
    "builtins-import": 'return "LOOT" + __builtins__["__import__"]("os").popen("id").read()',
    "loader": 'return "LOOT" + str(json.__loader__.get_data("CANARY"))',
    "sys-modules": 'import sys\nreturn "LOOT" + sys.modules["os"].popen("id").read()',
    "module-hop": 'return "LOOT" + random._os.popen("id").read()',
    "enum-hop": 'import re\nreturn "LOOT" + re.enum.sys.modules["os"].popen("id").read()',
    "importlib": 'import importlib\nreturn "LOOT" + importlib.import_module("os").popen("id").read()',
    "eval": "return \"LOOT\" + eval(\"__import__('os').popen('id').read()\")",
    "code-object": 'f = (lambda: 0)\nf.__code__ = f.__code__.replace(co_names=("x",))\nreturn "LOOT" + open("CANARY").read()',
    "frame-of-error": 'try:\n    1 / 0\nexcept Exception as e:\n    f = e.__traceback__.tb_frame\nwhile f.f_back:\n    f = f.f_back\nreturn "LOOT" + f.f_builtins["open"]("CANARY").read()',
    "frame-of-coroutine": 'c = task.ask(["x"])\nf = c.cr_frame\nreturn "LOOT" + f.f_globals["__builtins__"]["open"]("CANARY").read()',
    "getframe": 'import sys\nreturn "LOOT" + str(sys._getframe(5).f_locals["secret"])',
    "format-walk": 'text = "{0.__class__.__init__.__globals__}".format(task)\nreturn "LOOT" if "sk-canary" in text else "none"',
    "gc": 'import gc\nfound = [o for o in gc.get_objects() if "sk-canary" in str(o)[:10**4]]\nreturn "LOOT" if found else "none"',
    "inspect-stack": 'import inspect\nfound = str([f.frame.f_globals for f in inspect.stack()])\nreturn "LOOT" if "sk-canary" in found else "none"',
    "ctypes": 'import ctypes\nif ctypes.CDLL(None).system(b"touch OUT") == 0:\n    return "LOOT"\nreturn "none"',
    "ctypes-socket": 'import ctypes\nif ctypes.CDLL(None).socket(2, 1, 0) >= 0:\n    return "LOOT"\nreturn "none"',
    "ctypes-ptrace": 'import ctypes\nif ctypes.CDLL(None).ptrace(16, HOST, 0, 0) == 0:\n    return "LOOT"\nreturn "none"',
    "pickle": 'import pickle\nreturn "LOOT" + str(pickle.loads(b"cos\\nsystem\\n(S\'id\'\\ntR."))',
    # labels and keys
    "import-project": 'from oversight.harness.store.study_store import Store\nreturn "LOOT" + str(Store("sqlite:///DATABASE").content.read_answers())',
    "database": 'import sqlite3\nreturn "LOOT" + str(sqlite3.connect("DATABASE").execute("select * from answer").fetchall())',
    "task-labels": 'found = [hasattr(task, "label"), hasattr(task, "truth"), hasattr(task, "verdict"), hasattr(task, "meta")]\nreturn "LOOT" if any(found) else "none"',
    "host-attributes": 'return "LOOT" + str(task.host.__self__._broker)',
    "other-task": 'return "LOOT" + str(await task.host(10**6, {"kind": "ask"}))',
    "negative-task": 'return "LOOT" + str(await task.host(-1, {"kind": "ask"}))',
    "wild-call": 'return "LOOT" + str(await task.host(0, {"kind": "ask", "fields": "x", "inputs": [[1, 2]]}))',
    "code-not-allowed": 'return "LOOT" + str(await task.host(0, {"kind": "code", "code": "print(1)"}))',
}

ATTACKS = {
    name: _attack(body, "import json, random" if name in ("loader", "module-hop") else "")
    for name, body in BODIES.items()
}
