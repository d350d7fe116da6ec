from .corrected_pairs import corrected_difference as corrected_difference
from .paired import (
    clustered_difference as clustered_difference, mcnemar as mcnemar, never_differ as never_differ,
    paired_difference as paired_difference, paired_proportions as paired_proportions, sign_test as sign_test,
)
from .ranking import Ranking as Ranking, adjust_comparisons as adjust_comparisons, rank_models as rank_models
from .two_models import Comparison as Comparison, TIED as TIED, pairs_table as pairs_table
