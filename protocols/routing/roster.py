"""Read the roster: which expert judges which classes, and how many questions each expert takes.

A roster file is TOML::

    [[expert]]
    name = "ana"
    classes = ["cardiology"]     # or ["*"]: may be asked about any option
    capacity = 200               # optional: largest number of questions for this expert
    absent = false               # optional: if true, the expert stays in the file but is not asked
    email = "ana@example.org"    # optional: the expert's account on Label Studio
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oversight.harness import DataError, check_mapping, check_names
from oversight.harness.output import did_you_mean, read_text

ANY_CLASS = "*"
_KEYS = {"name": str, "classes": list, "capacity": int, "absent": bool, "email": str}


@dataclass(frozen=True, slots=True)
class Expert:
    """A person who answers yes/no questions.

    Attributes
    ----------
    name
        Name, unique in the roster.
    classes
        Names of the classes that this expert can judge; ``("*",)`` for any option of any item.
    capacity
        Largest number of questions for this expert; None for no limit.
    absent
        Whether this expert must not be asked at all, for example after leaving for good.
    email
        Address of this expert's account on a labelling server; if empty, the server gets a made-up address.
    away
        Whether this expert is temporarily away: questions go to other experts of the class, or wait if there
        is nobody else.
    """

    name: str
    classes: tuple[str, ...]
    capacity: int | None = None
    absent: bool = False
    email: str = ""
    away: bool = False

    def __post_init__(self) -> None:
        check_names("classes", self.classes)

    def judges(self, class_name: str) -> bool:
        """Whether this expert can judge questions about this class."""
        return ANY_CLASS in self.classes or class_name in self.classes


@dataclass(frozen=True, slots=True)
class Roster:
    """The experts of a study, in file order."""

    experts: tuple[Expert, ...]
    file: str = ""

    def for_class(self, class_name: str) -> tuple[Expert, ...]:
        """Return present experts who can judge the class, in file order.

        Experts who are away are returned only if nobody else can judge the class.
        """
        able = tuple(e for e in self.experts if not e.absent and e.judges(class_name))
        return tuple(e for e in able if not e.away) or able

    def find_expert(self, name: str) -> Expert:
        """Return the expert with a name.

        Raises
        ------
        DataError
            If no expert has this name.
        """
        for expert in self.experts:
            if expert.name == name:
                return expert
        names = [expert.name for expert in self.experts]
        told = f"there is no expert {name!r}; there are: {', '.join(names)}{did_you_mean(name, names)}"
        raise self.error("name", told)

    def without(self, absences: Mapping[str, bool]) -> Roster:
        """Return a copy of the roster in which `away` is True for the experts named in `absences`.

        `absences` maps a name to whether the absence is permanent; if so, `absent` is True too.
        """
        check_mapping("absences", absences, "expert → whether for good")
        experts = (
            replace(e, absent=e.absent or absences[e.name], away=True) if e.name in absences else e
            for e in self.experts
        )
        return replace(self, experts=tuple(experts))

    def error(self, field: str, message: str) -> DataError:
        """Make an error that names the roster's file."""
        return DataError(message, file=self.file, field=field)

    @property
    def classes(self) -> tuple[str, ...]:
        """Return all classes that some expert names, in order of first mention."""
        return tuple(dict.fromkeys(name for expert in self.experts for name in expert.classes))

    def check(self, classes: Iterable[str]) -> None:
        """Check that every class has a present expert, and that experts name only known classes.

        Parameters
        ----------
        classes
            The fixed classes of the study; empty if items have different options.

        Raises
        ------
        DataError
            If a class has no expert, or an expert names an unknown class. The message names the roster file,
            and the class or the expert.
        """
        check_names("classes", classes)
        known = list(classes)
        for expert in self.experts:
            for name in expert.classes:
                if known and name != ANY_CLASS and name not in known:
                    told = f"the unknown class {name!r}; classes are {', '.join(known)}"
                    told += did_you_mean(name, known)
                    raise self.error("classes", f"expert {expert.name!r} has {told}")
        for name in known or [ANY_CLASS]:
            if not self.for_class(name):
                hint = "add one, or end an absence" if known else 'give one expert classes = ["*"]'
                raise self.error("classes", f"no expert is present for the class {name!r}; {hint}")


def one_expert_per_class(classes: Sequence[str]) -> Roster:
    """Return a roster with one expert per class, who is named after the class; for simulations."""
    return Roster(tuple(Expert(name, (name,)) for name in classes))


def read_roster(path: str | Path) -> Roster:
    """Read a roster file.

    Raises
    ------
    DataError
        If the file cannot be read, or an expert has no name, no class, an unknown key, a value of a wrong
        type, or the name of another expert.
    """
    path = Path(path)
    try:
        table = tomllib.loads(read_text(path))
    except FileNotFoundError:
        raise DataError("there is no such roster file", file=path) from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"not a readable TOML file: {error}", file=path) from None
    rows = table.get("expert")
    if set(table) != {"expert"} or not isinstance(rows, list) or not rows:
        raise DataError("a roster must contain only [[expert]] entries", file=path, field="expert")
    experts: list[Expert] = []
    for number, row in enumerate(rows, start=1):
        expert = _expert(row, path, number)
        if any(expert.name == other.name for other in experts):
            raise DataError(f"the name {expert.name!r} is used twice", file=path, field=f"expert {number}")
        experts.append(expert)
    return Roster(tuple(experts), str(path))


def _expert(row: dict[str, Any], path: Path, number: int) -> Expert:
    def wrong(key: str, message: str) -> DataError:
        return DataError(message, file=path, field=f"expert {number}.{key}")

    for key, value in row.items():
        if key not in _KEYS:
            raise wrong(key, f"unknown key; known are {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]) or (key == "capacity" and isinstance(value, bool)):
            raise wrong(key, f"must be of type {_KEYS[key].__name__}, is {value!r}")
    name, classes, capacity = row.get("name", ""), row.get("classes", []), row.get("capacity")
    if not name.strip():
        raise wrong("name", "an expert needs a name")
    if not classes or not all(isinstance(c, str) and c.strip() for c in classes):
        raise wrong("classes", "an expert needs a list of class names")
    if capacity is not None and capacity < 1:
        raise wrong("capacity", f"must be at least 1, is {capacity}")
    email = row.get("email", "")
    if email and not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", email):
        raise wrong("email", f"must be an e-mail address, is {email!r}")
    return Expert(name, tuple(classes), capacity, row.get("absent", False), email)
