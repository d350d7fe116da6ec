from .decoding import UNIFORM_ASSUMPTIONS as UNIFORM_ASSUMPTIONS, decode as decode
from .stratified import (
    Conditioning as Conditioning, Estimates as Estimates, ModelEstimates as ModelEstimates,
    Tallies as Tallies, Tally as Tally, all_estimators as all_estimators,
    estimate_counts as estimate_counts, estimate_tallies as estimate_tallies,
    is_proportional as is_proportional, mover_sum as mover_sum, with_unreadable as with_unreadable,
)
from .tallies import (
    CONFIDENCE as CONFIDENCE, LabelledArrays as LabelledArrays, Strata as Strata,
    fill_answers as fill_answers, find_strata as find_strata, label_arrays as label_arrays,
    tally as tally, tally_arrays as tally_arrays, tally_columns as tally_columns,
    tally_pool as tally_pool, to_arrays as to_arrays,
)
