from .check import Check as Check, is_negligible as is_negligible
from .check import UNIFORM_CHECKS as UNIFORM_CHECKS
from .expert_answers import GoldAnswer as GoldAnswer, gold_errors as gold_errors
from .suite import run_checks as run_checks
from .suite import explain_failures as explain_failures
