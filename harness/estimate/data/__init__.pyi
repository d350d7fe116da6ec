from .conditioning import ABSTAINED as ABSTAINED, Conditioning as Conditioning, NO as NO, YES as YES
from .confidence_strata import stratify_by_confidence as stratify_by_confidence
from .labelled_arrays import Arrays as Arrays, to_arrays as to_arrays
from .tallies import Tallies as Tallies, Tally as Tally, tally as tally, tally_arrays as tally_arrays
