"""Follow one value through real calls: which files it crosses, and where it comes back to one it left."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from tests.house.faces import PACKAGE, WINGS
from tests.house.measure import ROOT

HOME = f"{ROOT}/{PACKAGE}/"
COLUMNS = "harness/columns/"
SHARED = (
    "harness/types/",
    COLUMNS,
    "harness/store/tables/",
    "harness/errors.py",
    "harness/argument_checks.py",
    "harness/registry.py",
    "harness/seeding.py",
    "harness/output/",
    "harness/store/serialization.py",
)
"""Modules that every file uses, such as values and errors. No value has to be followed there."""
MOST_FOLDERS = 8
DEEPEST, WIDEST = 10, 400
_RESUMABLE = 0x20 | 0x80 | 0x200
"""Flags of generators and coroutines: to go on with one is no new call."""
_PLAIN = (str, bytes, int, float, complex, type(None), type, CodeType)


@dataclass(slots=True)
class Walk:
    """The way of one value.

    Attributes
    ----------
    steps
        File entered, and the file it was entered from, in order.
    handed
        Those of the steps where the file was handed the value; the others gave it back.
    """

    steps: list[tuple[str, str]] = field(default_factory=list)
    handed: set[tuple[str, str]] = field(default_factory=set)

    @property
    def files(self) -> list[str]:
        """Files in the order in which the value first comes to them."""
        return list(dict.fromkeys(file for file, _ in self.steps))

    @property
    def folders(self) -> list[str]:
        """The folders they lie in."""
        return list(dict.fromkeys(file.rpartition("/")[0] for file in self.files))

    @property
    def returns(self) -> list[tuple[str, str]]:
        """Files that are handed the value from a second file, after the first has left them."""
        first: dict[str, str] = {}
        again = []
        for file, caller in self.steps:
            if (file, caller) not in self.handed:
                continue  # a call that returns the value
            if caller and first.setdefault(file, caller) != caller and (file, caller) not in again:
                again.append((file, caller))
        return again


class Tracer:
    """Watches calls and notes those that are given the value, or something made of it.

    Parameters
    ----------
    dye
        A text that the value carries, such as the id of an item.
    start, stop
        Beginnings of the paths of the files where the walk starts, and where it ends.
    """

    def __init__(self, dye: str, start: str = "", stop: str = "nowhere") -> None:
        self.walk = Walk()
        self._dye, self._start, self._stop = dye, start, stop
        self._resumed: set[FrameType] = set()
        self._made: dict[int, tuple[Any, int]] = {}
        self._frames: dict[FrameType, str] = {}
        self._silent: set[FrameType] = set()

    def __enter__(self) -> Tracer:
        threading.setprofile(self._watch)
        sys.setprofile(self._watch)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _watch(self, frame: FrameType, event: str, value: Any) -> None:
        see = self._see_columns if f"{HOME}{COLUMNS}" in frame.f_code.co_filename else self._see
        see(frame, event, value)

    def _see(self, frame: FrameType, event: str, value: Any) -> None:
        if event not in ("call", "return"):
            return
        file = product_file(frame.f_code)
        if file is None or not (self.walk.steps or file.startswith(self._start)):
            return
        if event == "return":
            inside = self._frames.pop(frame, None)
            if inside is None and self._carries(value, DEEPEST):
                inside = self._enter(frame, file)
            if inside is not None:
                self._note(value, DEEPEST)
                if file.startswith(self._stop):
                    self.__exit__()
            return
        if frame.f_code.co_flags & _RESUMABLE:
            if frame in self._resumed:
                return
            self._resumed.add(frame)
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
        if any(self._carries(frame.f_locals.get(name), DEEPEST) for name in names):
            self._frames[frame] = self._enter(frame, file, handed=True)

    def _see_columns(self, frame: FrameType, event: str, value: Any) -> None:
        """Columns count for no file, but they are made of the value; which items have one is not."""
        if event == "return" and frame in self._silent:
            self._silent.remove(frame)
            if not isinstance(value, np.ndarray):
                self._note(value, DEEPEST)
        if event == "call" and any(
            self._carries(frame.f_locals.get(name), DEEPEST) for name in frame.f_code.co_varnames
        ):
            self._silent.add(frame)

    def _enter(self, frame: FrameType, file: str, *, handed: bool = False) -> str:
        caller = caller_file(frame)
        if caller != file:
            self.walk.steps.append((file, caller))
            if handed:
                self.walk.handed.add((file, caller))
        return file

    def _note(self, value: Any, depth: int) -> None:
        """Record that a returned value, and all its parts up to a depth, derive from the traced value.

        Empty tuples and frozen sets are not recorded, because all values share the same one.
        """
        if isinstance(value, tuple | frozenset) and not value:
            return
        if isinstance(value, (*_PLAIN, bool)) or self._made.get(id(value), (None, 0))[1] >= depth:
            return
        self._made[id(value)] = value, depth
        for part in parts_of(value):
            self._note(part, depth - 1)

    def _carries(self, value: Any, depth: int) -> bool:
        if isinstance(value, str):
            return self._dye in value
        if isinstance(value, bytes):
            return self._dye.encode() in value
        if isinstance(value, _PLAIN):
            return False
        if id(value) in self._made:
            return True
        if depth == 0:
            return False
        return any(self._carries(part, depth - 1) for part in parts_of(value))


def parts_of(value: Any) -> list[Any]:
    """Parts of a container or value that can be read without running its code."""
    if isinstance(value, dict):
        return [x for pair in list(value.items())[:WIDEST] for x in pair]
    if isinstance(value, tuple | list | set | frozenset):
        return list(value)[:WIDEST]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, f.name, None) for f in dataclasses.fields(value)]
    return []


def product_file(code: CodeType) -> str | None:
    """Path of a function of the product, faces and what is shared aside."""
    if not code.co_filename.startswith(HOME):
        return None
    relative = code.co_filename[len(HOME) :]
    if relative.split("/", 1)[0] not in WINGS or relative.startswith(SHARED):
        return None
    return None if relative.endswith("__init__.py") or code.co_name == "<module>" else relative


def caller_file(frame: FrameType) -> str:
    """The nearest file of the product that a call came from; empty where the event loop made it."""
    above = frame.f_back
    while above is not None and not above.f_code.co_filename.endswith("asyncio/events.py"):
        file = product_file(above.f_code)
        if file is not None:
            return file
        above = above.f_back
    return ""


def follow(dye: str, call: Callable[[], object], start: str = "", stop: str = "nowhere") -> Walk:
    """Trace a call for the value that carries this text."""
    with Tracer(dye, start, stop) as tracer:
        call()
    return tracer.walk


def describe_walk(name: str, walk: Walk) -> str:
    """The walk as CONTRIBUTING shows it."""
    head = f"{name}: {len(walk.files)} files in {len(walk.folders)} folders, {len(walk.returns)} returns"
    steps = [f"  {j:2}. {file}" for j, file in enumerate(walk.files, start=1)]
    return "\n".join([head, *steps, *(f"  back to {file} from {caller}" for file, caller in walk.returns)])


def assert_short(name: str, walk: Walk, files: int, returns: int) -> None:
    """Print a walk, and hold it against the most files and returns that it may have."""
    sys.stdout.write(describe_walk(name, walk) + "\n")
    assert len(walk.files) <= files
    assert len(walk.folders) <= MOST_FOLDERS
    assert len(walk.returns) <= returns
