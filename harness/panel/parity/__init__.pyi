from .by_certainty import (
    measure_parity as measure_parity, measure_parity_by_class as measure_parity_by_class,
    measure_parity_by_label as measure_parity_by_label,
)
from .clustered_shares import Share as Share
from .detection import Scores as Scores
from .certainty_bins import Parity as Parity
