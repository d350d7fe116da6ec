from .check import Check as Check, is_negligible as is_negligible
from .check_names import UNIFORM_CHECKS as UNIFORM_CHECKS
from .errors_on_gold import GoldAnswer as GoldAnswer, gold_errors as gold_errors
from .suite import run_checks as run_checks
from .voiding_checks import explain_failures as explain_failures
