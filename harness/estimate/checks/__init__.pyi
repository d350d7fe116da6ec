from .check import Check as Check
from .suite import run_checks as run_checks
