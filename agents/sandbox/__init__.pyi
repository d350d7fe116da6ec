from .base import (
    Host as Host, Payload as Payload, ProgramOutcome as ProgramOutcome, Sandbox as Sandbox,
    SandboxLimits as SandboxLimits,
)
from .tiers import TIERS as TIERS, open_sandbox as open_sandbox
