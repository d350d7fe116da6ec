from .check import Check as Check
from .suite import CHECKS as CHECKS, run_checks as run_checks
