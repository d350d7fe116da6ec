"""Programs that write a file as soon as they are imported, or as soon as they answer; PATH is the file."""

from __future__ import annotations

from oversight.harness.types import Program

_PLAIN = "async def forward(task):\n    return (await task.ask(['answer'], [task]))[0]\n"
_LOUD = 'open("PATH", "w").write("x")'

_HIDDEN = [
    ("import enum", "class E(enum.Enum):\n    _generate_next_value_ = lambda *a: 1\n    a = enum.auto()"),
    ("from enum import Enum as B", "class E(B):\n    a = 1\n\n    def __init__(self, x):\n        pass"),
    ("import enum\nB = enum.Enum", "class E(B):\n    a = 1\n\n    def __init__(self, x):\n        pass"),
    (
        "import enum\n\n\nclass M:\n    def __init__(self, x):\n        pass",
        "class E(M, enum.Enum):\n    a = 1",
    ),
    (
        "import enum\n\n\nclass B(enum.Enum):\n    pass",
        "class E(B):\n    a = 1\n\n    def __init__(self, x):\n        pass",
    ),
    (
        "import enum\n\n\nclass N:\n    B = enum.Enum",
        "class E(N.B):\n    a = 1\n\n    def __init__(self, x):\n        pass",
    ),
    ("from functools import reduce as field", "X = field(lambda a, b: a, (1, 2))"),
    ("from functools import partial as dataclass", "@dataclass\nclass A:\n    pass"),
    ("class dataclasses:\n    field = lambda: 1", "X = dataclasses.field()"),
    ("import random as s", "import statistics as s"),
    ("import json", "json.dumps = print"),
    ("import json", "def f():\n    del json.dumps"),
    ("from collections import Counter", "def f():\n    Counter.most_common = print"),
    ("X = 1", "def f(task):\n    type(task).ask = print"),
    ("X = 1", "def Workflow(*_):\n    pass"),
    ("X = 1", "from json import dumps as Workflow"),
]
"""What runs, or changes what others run, without a name that tells of it."""
AT_IMPORT = [
    f"X = {_LOUD}\n",
    'import os\nX = os.system("touch PATH")\n',
    'import json\nX = json.codecs.open("PATH", "w")\n',
    'import json\n\n\ndef f():\n    try:\n        json.codecs.open("PATH", "w")\n'
    "    except Exception:\n        pass\n\n\nX = f()\n",
    'import json as j\n\n\ndef f(x=j):\n    return x.codecs.open("PATH", "w")\n\n\nX = f()\n',
    'from json import codecs\nX = codecs.open("PATH", "w")\n',
    'from json import codecs as c\n\n\nclass A:\n    x = c.open("PATH", "w")\n',
    'import dataclasses\nX = dataclasses.inspect.importlib.import_module("pathlib").Path("PATH").touch()\n',
    'import operator, json\nX = operator.attrgetter("codecs.open")(json)("PATH", "w")\n',
    'from operator import attrgetter\nimport json\nX = attrgetter("codecs.open")(json)("PATH", "w")\n',
    'from operator import methodcaller\nimport json\nX = methodcaller("codecs")(json)\n',
    'import json\nX = getattr(json, "codecs").open("PATH", "w")\n',
    "import asyncio\nX = asyncio.subprocess\n",
    'import random\nX = random._os.system("touch PATH")\n',
    'import statistics\nX = statistics.sys.modules["os"].system("touch PATH")\n',
    'import re\nX = re.enum.sys.modules["os"].system("touch PATH")\n',
    'import textwrap\nX = textwrap.re.enum.sys.modules["os"].system("touch PATH")\n',
    'import typing\nX = typing.sys.modules["os"].system("touch PATH")\n',
    "import typing\n\n\nclass A:\n    x: \"open('PATH', 'w')\"\n\n\nX = typing.get_type_hints(A)\n",
    'import collections\nX = collections.abc.sys.modules["os"].system("touch PATH")\n',
    'import functools\n\n\n@functools.partial\ndef f(g):\n    return open("PATH", "w")\n',
    f"def f(g):\n    {_LOUD}\n    return g\n\n\n@f\ndef h():\n    pass\n",
    f"def f(x: {_LOUD}):\n    pass\n",
    f"def f(x={_LOUD}):\n    pass\n",
    f"X = lambda y={_LOUD}: y\n",
    f"X = [{_LOUD} for _ in (1,)]\n",
    f"class M(type):\n    def __init__(self, *a):\n        {_LOUD}\n\n\nclass A(metaclass=M):\n    pass\n",
    f"import enum\n\n\nclass E(enum.Enum):\n    a = 1\n\n    def __init__(self, x):\n        {_LOUD}\n",
    f"if True:\n    {_LOUD}\n",
    f"try:\n    {_LOUD}\nfinally:\n    pass\n",
    'X = __builtins__["open"]("PATH", "w")\n',
    'X = (lambda: 0).__globals__["__builtins__"]["open"]("PATH", "w")\n',
    "X = \"{0.__init__.__globals__}\".format(print)\nX = eval(\"open('PATH', 'w')\")\n",
    "X = help(\"modules\")\nX = exec(\"open('PATH', 'w')\")\n",
    "import oversight.agents.workflow\nX = oversight.agents.workflow.Any\n"
    'X = __import__("os").system("touch PATH")\n',
    "from oversight.agents.operators import Any, asyncio\nX = asyncio.subprocess\nX = vars()\n",
    'import string\nX = string.Formatter().get_field("0.codecs", (string,), {})\n',
    *(f"{head}\n\n\n{body}\n" for head, body in _HIDDEN),
    "import json\n\n\ndef f(x):\n    match x:\n        case object(codecs=c):\n"
    '            c.open("PATH", "w")\n\n\nX = f(json)\n',
]
"""What stands in front of an honest `forward`."""

TEXTS = [
    '"""\n' + _LOUD + '\n"""',
    "'''\n" + _LOUD + "\n'''",
    '\\"""\n' + _LOUD + "\n#",
    "x\n" + _LOUD + "\n",
    "x\r" + _LOUD + "\r",
    "x\u2028" + _LOUD + "\u2029",
    "{body}{0.__class__}" + "\x00\x1b[31m\u202e",
]
"""Names and thoughts that would be code, were they not quoted."""


def hostile_programs(path: str) -> list[Program]:
    """All of them, `path` being the file that each tries to write."""
    sources = [text.replace("PATH", path) + "\n\n" + _PLAIN for text in AT_IMPORT]
    texts = [text.replace("PATH", path) for text in TEXTS]
    return [
        *(Program("plain", source) for source in sources),
        *(Program(text, _PLAIN, text) for text in texts),
        *(Program("quoted", f"{_PLAIN}\n\nX = {text!r}\n", text) for text in texts),
    ]
