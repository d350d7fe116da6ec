from .call_repository import (
    Batch as Batch, CallRepository as CallRepository, ReservedAnswer as ReservedAnswer,
    Spending as Spending, StoredCall as StoredCall, UNDER_WAY as UNDER_WAY,
)
from .lost_answers import Uncertain as Uncertain, book as book
from .run_locks import HeldLocks as HeldLocks, LockRepository as LockRepository
