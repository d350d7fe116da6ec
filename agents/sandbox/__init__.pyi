from .base import (
    Host as Host, Payload as Payload, ProgramOutcome as ProgramOutcome, Sandbox as Sandbox,
    read_outcomes as read_outcomes,
)
from .closed_gate import check_in_process as check_in_process
from .shim import STAND_INS as STAND_INS, strip_own as strip_own
from .tiers import TIERS as TIERS, open_sandbox as open_sandbox
