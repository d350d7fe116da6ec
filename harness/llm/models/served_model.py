"""Which model answers: the name in the first reply is the name in all of them."""

from __future__ import annotations

import re
from collections.abc import Callable

from oversight.harness.errors import FatalModelError, Fault, TransientModelError

_SUFFIX = re.compile(r"([-_@:.]*(v?[0-9][0-9.\-]*|latest|preview|gguf|q[0-9]\w*|fp?[0-9]+|bf16|awq|gptq))*")


class ServedModel:
    """Compares the names of models in replies with that of the first.

    Endpoints name a model more precisely than it is asked for (``gpt-5-mini-2025-08-07``) or by an alias of
    their own, but always alike: another name later is another model, whatever the two have in common.

    Parameters
    ----------
    asked
        The model's name in the request.
    known
        What the endpoint calls it, as the user says or an earlier reply did; None before the first.
    fix
        Called with the name in the first reply, to be kept for later commands.
    tell
        Called with a sentence for the user where the first name does not resemble the one asked for.
    patience
        So many replies in a row by another model are too many.
    """

    def __init__(
        self,
        asked: str,
        known: str | None,
        *,
        fix: Callable[[str], None],
        tell: Callable[[str], None],
        patience: float = 20,
    ) -> None:
        self._asked, self._known, self._patience = asked, known, patience
        self._fix, self._tell = fix, tell
        self._wrong = 0

    def recognise(self, served: str) -> None:
        """Take in the name of a model that answered.

        Raises
        ------
        TransientModelError
            If it is another model.
        FatalModelError
            If it has been another one for so long that it will stay.
        """
        if self._known is None:
            self._known = served
            self._fix(served)
            if not _resemble(self._asked, served):
                right = f"set answers_as = {served!r} if that is right"
                self._tell(f"{self._asked} was asked, {served} answers; {right}")
        if served == self._known or _bare(served) == _bare(self._known):
            self._wrong = 0
            return
        self._wrong += 1
        said = f"answered as {served!r}, not as {self._known!r}"
        if self._wrong >= self._patience:
            raise FatalModelError(
                f"{said}, {self._wrong} times in a row; if it is the same model, set answers_as = {served!r}"
            )
        raise TransientModelError(said, fault=Fault.WRONG_MODEL)


def _resemble(asked: str, served: str) -> bool:
    """Whether two names are of one model: the longer one ends with a date, a version or a format."""
    short, long = sorted((_bare(asked), _bare(served)), key=len)
    return long.startswith(short) and _SUFFIX.fullmatch(long[len(short) :]) is not None


def _bare(name: str) -> str:
    """A name without the owner or the path before it, which the same endpoint may leave out or put in."""
    return name.casefold().rstrip("/").rpartition("/")[2].removesuffix(":latest")
