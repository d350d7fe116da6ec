"""Whether the model that answers is the one that was asked, and always the same."""

from __future__ import annotations

from collections.abc import Callable


def is_same_model(asked: str, served: str) -> bool:
    """Compare the name of the model asked for with the one in a reply.

    Endpoints name a model more precisely than it is asked for (``gpt-5-mini-2025-08-07``), or with the
    owner or the path left out or put in; so one name must begin with the other's last part.
    """
    a, b = (n.casefold().rstrip("/").rpartition("/")[2].removesuffix(":latest") for n in (asked, served))
    return a.startswith(b) or b.startswith(a)


class ServedModel:
    """Judges the names of models in replies.

    A name that does not resemble the asked one at all may be an alias: the first such is reported and
    then taken for it, any further one is another model. With `answers_as` there is nothing to guess.

    Parameters
    ----------
    asked
        The model's name in the request.
    answers_as
        What the endpoint calls it, if that is known.
    tell
        Called with a sentence for the user.
    """

    def __init__(self, asked: str, answers_as: str | None, tell: Callable[[str], None]) -> None:
        self._asked, self._tell = asked, tell
        self._alias = answers_as
        self._good = {asked, *([answers_as] if answers_as else [])}

    def __call__(self, served: str) -> bool:
        """Whether an answer of the model of this name will do."""
        if served in self._good:
            return True
        if is_same_model(self._asked, served):
            self._good.add(served)
            self._alias = self._alias or served
            return True
        if self._alias is not None:
            return False
        self._alias = served
        self._good.add(served)
        self._tell(f"{self._asked} was asked, {served} answers; set answers_as = {served!r} if that is right")
        return True
