from .endpoints import (
    Batch as Batch, CallRepository as CallRepository, EndpointRepository as EndpointRepository,
    StoredCall as StoredCall, UNDER_WAY as UNDER_WAY,
)
from .lost_answers import (
    Uncertain as Uncertain, book as book,
)
from .reservations import (
    ReservationRepository as ReservationRepository, ReservedAnswer as ReservedAnswer,
    Spending as Spending,
)
from .run_locks import (
    HeldLocks as HeldLocks, LockRepository as LockRepository,
)
