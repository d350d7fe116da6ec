from .check import Check as Check
from .suite import UNIFORM_CHECKS as UNIFORM_CHECKS, run_checks as run_checks
