from .base import (
    DEFAULT_LIMITS as DEFAULT_LIMITS, Payload as Payload, ProgramOutcome as ProgramOutcome,
    Sandbox as Sandbox, SandboxLimits as SandboxLimits, read_outcomes as read_outcomes,
)
from .gate import check_program as check_program
from .shim import STAND_INS as STAND_INS, strip_own as strip_own
from .tiers import open_sandbox as open_sandbox, probe_tiers as probe_tiers
