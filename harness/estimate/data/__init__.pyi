from .confidence_strata import stratify_by_confidence as stratify_by_confidence
from .labelled_arrays import (
    ABSTAINED as ABSTAINED, LabelledArrays as LabelledArrays, NO as NO, YES as YES, to_arrays as to_arrays,
)
from .tallies import tally as tally, tally_arrays as tally_arrays
