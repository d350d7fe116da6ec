"""Calls that were paid for, by what was asked."""

from __future__ import annotations

from collections.abc import Sequence

from oversight.harness import Fault
from oversight.harness.llm import Batches, Request
from oversight.harness.store import Store, StoredCall

LINGER = 0.005
"""Seconds; short beside any call to a model, and long enough to gather what one transaction can do."""


class CallCache:
    """The table of calls by key: what comes together is read or written together.

    Parameters
    ----------
    store
        The study's database; None keeps calls in memory.
    """

    def __init__(self, store: Store | None) -> None:
        self._memory: dict[str, StoredCall] | None = {} if store is None else None
        self._calls = None if store is None else store.calls
        if store is not None:
            calls = store.calls

            def read(keys: Sequence[str]) -> list[StoredCall | None]:
                found = calls.read_calls(list(dict.fromkeys(keys)), failed=True)
                counts = {key: call for key, call in found.items() if _counts(call)}
                return [counts.get(key) for key in keys]

            self._reads = Batches(read, linger=LINGER)
            self._writes = Batches[StoredCall, None](calls.write_calls, linger=LINGER)

    async def get(self, key: str) -> StoredCall | None:
        """Return a call that succeeded, or was lost, if there is one."""
        return self._memory.get(key) if self._memory is not None else await self._reads.put(key)

    def find_answered(self, *, has_schema: bool) -> Request | None:
        """The latest stored request that was answered, of those with a schema or those without; or None."""
        if self._calls is None:
            return None
        found = self._calls.find_latest(has_schema=has_schema)
        return None if found is None else Request.read(found.request)

    async def add(self, call: StoredCall) -> None:
        """Store a call; when this returns it is there, whatever happens to the process."""
        if self._memory is None:
            await self._writes.put(call)
        elif not call.error:
            self._memory[call.key] = call


def _counts(call: StoredCall) -> bool:
    """Whether a stored call is an answer or a lost call; others that failed are made again."""
    return not call.error or call.error.startswith(f"{Fault.LOST}: ")
