from .paired import (
    Comparison as Comparison, adjusted_difference as adjusted_difference, mcnemar as mcnemar,
    paired_difference as paired_difference, sign_test as sign_test,
)
from .ranking import Ranking as Ranking, adjust_comparisons as adjust_comparisons, rank_models as rank_models
