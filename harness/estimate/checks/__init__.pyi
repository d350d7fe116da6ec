from .check import Check as Check
from .check_names import UNIFORM_CHECKS as UNIFORM_CHECKS
from .suite import run_checks as run_checks
