from .evidence import DrawnEvidence as DrawnEvidence, ResolvedEvidence as ResolvedEvidence
from .difference import clustered_difference as clustered_difference, paired_proportions as paired_proportions
from .paired import mcnemar as mcnemar, paired_difference as paired_difference, sign_test as sign_test
from .ranking import Ranking as Ranking, adjust_comparisons as adjust_comparisons, rank_models as rank_models
from .two_models import Comparison as Comparison, TIED as TIED, pairs_table as pairs_table
