"""One call while it is made: what was asked, what its tries used, and the rows that are kept of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import uuid4

from oversight.agents.runtime.run_account import RequestAccount
from oversight.harness import Fault
from oversight.harness.llm import ModelReply, Price
from oversight.harness.store import StoredCall
from oversight.harness.types import Usage

BESIDE = "beside: tries that were paid for and brought no answer"
"""The error of what a call that was answered used beside its answer."""
LOST = f"{Fault.LOST}: under way when its process ended; it may have been answered"
_NOTHING = ModelReply("", "")


@dataclass(slots=True, eq=False)
class CallInMaking:
    """A call that is being made.

    Attributes
    ----------
    key, text
        Its key in the cache, and its request as it is stored.
    account
        Counts what all its tries use.
    latest
        The latest reply, whether it will do or not.
    is_noted
        Whether it is stored as lost; its reply or error replaces that row.
    """

    key: str
    text: str
    account: RequestAccount
    latest: ModelReply = _NOTHING
    is_noted: bool = False
    _started: float = field(default_factory=time.perf_counter)

    def rows(self, reply: ModelReply | None, price: Price | None, error: str = "") -> list[StoredCall]:
        """What is stored of it: the answer or the error, and what was paid beside that.

        The latter is kept under a key of its own, where nothing finds it, as a call that failed is made again
        and then takes the place of this one.
        """
        used, answer = self.account.used, reply or _NOTHING
        sent = max(0, used.input_tokens - answer.input_tokens)
        received = max(0, used.output_tokens - answer.output_tokens)
        rows = [self._row(self.key, answer, price, error)]
        if sent or received:
            paid = self.latest if reply is None else _NOTHING
            paid = replace(paid, input_tokens=sent, output_tokens=received)
            rows.append(self._row(f"{self.key}/{uuid4().hex}", paid, price, error or BESIDE))
        return rows

    def lose(self, used: Usage, price: Price | None) -> StoredCall:
        """What is stored while a call is out: if nothing replaces it, the call is lost, and was paid for."""
        reply = replace(_NOTHING, input_tokens=used.input_tokens, output_tokens=used.output_tokens)
        return self._row(self.key, reply, price, LOST)

    def _row(self, key: str, reply: ModelReply, price: Price | None, error: str) -> StoredCall:
        tokens = reply.input_tokens, reply.output_tokens
        return StoredCall(
            key=key,
            request=self.text,
            reply=reply.text,
            finish=reply.finish_reason,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            usd=None if price is None else price.dollars(*tokens),
            ms=(time.perf_counter() - self._started) * 1000,
            error=error,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
