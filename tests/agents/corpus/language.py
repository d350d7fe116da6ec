"""Workflows that lean on one part of the language each."""

_TAIL = """
    (answer,) = await task.ask(["answer"], [task, Record("note", str(note))])
    return answer
"""


def _with(body: str, head: str = "") -> str:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return f"{head.strip()}\n\nasync def forward(task):\n{lines}{_TAIL}"


LANGUAGE = {
    "comprehensions": _with("note = {k: [x for x in range(3) if x % 2] for k in {c for c in 'ab'}}"),
    "walrus-slices": _with("note = [y for x in 'abc'[::-1] if (y := x.upper()) != 'B']"),
    "format-strings": _with("note = f\"{3.14159:.2f} {'x':>4} {1_000:,}\" + '%s' % 2 + '{:03d}'.format(7)"),
    "string-methods": _with("note = ' a-b_c '.strip().replace('-', ' ').title().partition(' ')[2].zfill(4)"),
    "default-next": _with("note = next((letter for letter in task.letters if letter == 'Z'), 'none')"),
    "next-of-match": _with("note = next(x for x in ['a', 'b'] if x > 'a')"),
    "delete-key": _with("note = {'a': 1, 'b': 2}\ndel note['a']"),
    "delete-name": _with("x = 1\nnote = x\ndel x"),
    "try-finally": _with(
        "try:\n    note = int('x')\nexcept (ValueError, TypeError):\n    note = 0\nfinally:\n    done = True"
    ),
    "while-else": _with("n = 0\nwhile n < 3:\n    n += 1\nelse:\n    note = n"),
    "nested-closure": _with(
        "count = 0\ndef bump():\n    nonlocal count\n    count += 1\n    return count\nbump()\nnote = bump()"
    ),
    "reduce-partial": _with(
        "note = functools.reduce(lambda a, b: a + b, map(functools.partial(pow, 2), [1, 2]))",
        "import functools",
    ),
    "sorted-keys": _with("note = sorted(task.options, key=lambda o: (-len(o), o))"),
    "star-unpacking": _with("first, *rest = task.options\nnote = [*rest, first, *{**{'a': 1}}]"),
    "create-task": _with(
        "job = asyncio.create_task(task.ask(['thought']))\nnote = (await job)[0]", "import asyncio"
    ),
    "gather-exceptions": _with(
        "found = await asyncio.gather(task.ask(['x']), task.ask([]), return_exceptions=True)\n"
        "note = [f for f in found if not isinstance(f, Exception)]",
        "import asyncio",
    ),
    "sleep-politely": _with("await asyncio.sleep(1)\nnote = 'rested'", "import asyncio"),
    "string-constants": _with("note = string.ascii_uppercase[: len(task.options)]", "import string"),
    "mode-import": _with("note = mode(['a', 'b', 'a'])", "from statistics import mode"),
    "math-json": _with("note = json.dumps({'x': math.sqrt(2)})", "import json\nimport math"),
    "getattr-default": _with("note = getattr(task, 'text', '') if hasattr(task, 'text') else ''"),
    "assertion": _with("assert len(task.options) >= 2, 'no options'\nnote = 'fine'"),
    "heap": _with("note = heapq.nlargest(2, [3, 1, 2])", "import heapq"),
    "dedent": _with("note = textwrap.dedent('  a')", "import textwrap"),
    "generator-function": _with("def some():\n    yield 'a'\n    yield 'b'\nnote = list(some())"),
    "inheritance": _with(
        "note = Child().name()",
        "class Base:\n    def name(self):\n        return 'x'\n\n\nclass Child(Base):\n    pass",
    ),
    "property": _with(
        "note = Box().size", "class Box:\n    @property\n    def size(self):\n        return 3"
    ),
    "own-exception": _with(
        "try:\n    raise Trouble('x')\nexcept Trouble as error:\n    note = error",
        "class Trouble(Exception):\n    pass",
    ),
    "enumeration": _with("note = Kind.A.value", "from enum import Enum\n\n\nclass Kind(Enum):\n    A = 1"),
    "semaphore": _with(
        "gate = asyncio.Semaphore(2)\nasync with gate:\n    note = 'inside'", "import asyncio"
    ),
}

BEYOND_MONTY = frozenset(
    {
        "heap",
        "dedent",
        "generator-function",
        "inheritance",
        "property",
        "own-exception",
        "enumeration",
        "semaphore",
    }
)
"""Programs that need the second tier."""
