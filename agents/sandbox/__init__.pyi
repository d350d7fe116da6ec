from .base import (
    Host as Host, Payload as Payload, ProgramOutcome as ProgramOutcome, Sandbox as Sandbox,
    read_outcomes as read_outcomes,
)
from .tiers import TIERS as TIERS, open_sandbox as open_sandbox
