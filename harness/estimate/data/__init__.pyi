from .confidence_strata import CONFIDENCE as CONFIDENCE, Strata as Strata, find_strata as find_strata
from .decoding import decode as decode
from .every_estimator import (
    Estimates as Estimates, ModelEstimates as ModelEstimates, all_estimators as all_estimators,
    estimate_counts as estimate_counts,
)
from .filled_answers import fill_answers as fill_answers
from .labelled_arrays import (
    LabelledArrays as LabelledArrays, label_arrays as label_arrays, to_arrays as to_arrays,
)
from .stratified import (
    Conditioning as Conditioning, Tallies as Tallies, Tally as Tally, estimate_tallies as estimate_tallies,
    is_proportional as is_proportional,
)
from .tallies import (
    tally as tally, tally_arrays as tally_arrays, tally_columns as tally_columns, tally_pool as tally_pool,
)
from .unequal_answers import (
    REFUSALS as REFUSALS, estimate_refusals as estimate_refusals, find_unequal as find_unequal,
)
from .uniform_assumptions import UNIFORM_ASSUMPTIONS as UNIFORM_ASSUMPTIONS
