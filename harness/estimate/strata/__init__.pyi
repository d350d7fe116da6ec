from .every_estimator import (
    Estimates as Estimates, all_estimators as all_estimators, estimate_counts as estimate_counts,
)
from .stratified import (
    Conditioning as Conditioning, Tallies as Tallies, Tally as Tally,
    UNIFORM_ASSUMPTIONS as UNIFORM_ASSUMPTIONS, estimate_tallies as estimate_tallies,
)
