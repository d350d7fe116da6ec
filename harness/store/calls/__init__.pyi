from .call_repository import (
    UNDER_WAY as UNDER_WAY, Batch as Batch, CallRepository as CallRepository,
    ReservedAnswer as ReservedAnswer, Spending as Spending, StoredCall as StoredCall, Uncertain as Uncertain,
    book as book,
)
from .run_locks import HeldLocks as HeldLocks, LockRepository as LockRepository
