"""Check that an endpoint does not change the model during a run."""

from __future__ import annotations

import re
from collections.abc import Callable

from oversight.harness.config import ModelSection
from oversight.harness.errors import FatalModelError, Fault, OtherModelFirst, TransientModelError
from oversight.harness.output import say

_SUFFIX = re.compile(r"([-_@:.]*(v?[0-9][0-9.\-]*|latest|preview|gguf|q[0-9]\w*|fp?[0-9]+|bf16|awq|gptq))*")


class ServedModel:
    """Compares the model name in each reply with the name in the first reply.

    The reported name may differ from the requested one, for example ``gpt-5-mini-2025-08-07`` for
    ``gpt-5-mini``, but it is the same in all replies. So a new name in a later reply means another model. If
    the first name does not resemble the requested one, and a later name does, another model gave all earlier
    answers.

    Parameters
    ----------
    settings
        Settings of the model.
    known
        The name that the endpoint reports, from the settings or from earlier replies; None before the first
        reply.
    fix
        Function that stores the name in the first reply for later commands.
    patience
        Number of consecutive replies by another model after which the run ends.
    """

    def __init__(
        self,
        settings: ModelSection,
        known: str | None,
        *,
        fix: Callable[[str], None] = lambda _: None,
        patience: float = 20,
    ) -> None:
        self._asked = settings.answers_as or settings.model
        self._known, self._patience, self._fix = known, patience, fix
        self._wrong = 0

    def recognise(self, served: str) -> None:
        """Check the model name of a reply.

        Raises
        ------
        TransientModelError
            If the name denotes a model other than `known`.
        OtherModelFirst
            If the requested model answers for the first time, after another model has answered.
        FatalModelError
            If another model has answered `patience` consecutive calls.
        """
        if self._known is None:
            self._known = served
            self._fix(served)
            if not _resemble(self._asked, served):
                right = f"set answers_as = {served!r} if that is the same model"
                say(f"the model {self._asked} was requested, but {served} answers; {right}")
        if served == self._known or _bare(served) == _bare(self._known):
            self._wrong = 0
            return
        if _resemble(self._asked, served) and not _resemble(self._asked, self._known):
            raise OtherModelFirst(
                f"the endpoint first answered as {self._known!r} and now as {served!r}; answers by "
                f"{self._known!r} count as failed, and the next run repeats them; if the endpoint uses "
                "several names for one model, set answers_as to the first name"
            )
        self._wrong += 1
        said = f"the model {served!r} answered, not {self._known!r}"
        if self._wrong >= self._patience:
            raise FatalModelError(
                f"{said}, {self._wrong} times in a row; if both names mean the same model, set "
                f"answers_as = {served!r}"
            )
        raise TransientModelError(said, fault=Fault.WRONG_MODEL)


def _resemble(asked: str, served: str) -> bool:
    """Whether two names may denote the same model: the longer one only adds a date, version or format."""
    short, long = sorted((_bare(asked), _bare(served)), key=len)
    return long.startswith(short) and _SUFFIX.fullmatch(long[len(short) :]) is not None


def _bare(name: str) -> str:
    """Return a name in lower case, without owner or path and without ``:latest``."""
    return name.casefold().rstrip("/").rpartition("/")[2].removesuffix(":latest")
