from .answer_checks import GoldAnswer as GoldAnswer, gold_errors as gold_errors
from .draw_checks import Check as Check, UNIFORM_CHECKS as UNIFORM_CHECKS, is_negligible as is_negligible
from .suite import explain_failures as explain_failures, run_checks as run_checks
