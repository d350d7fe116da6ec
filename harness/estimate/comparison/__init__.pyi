from .difference import clustered_difference as clustered_difference, paired_proportions as paired_proportions
from .paired import (
    Comparison as Comparison, mcnemar as mcnemar, paired_difference as paired_difference,
    sign_test as sign_test,
)
from .ranking import Ranking as Ranking, adjust_comparisons as adjust_comparisons, rank_models as rank_models
