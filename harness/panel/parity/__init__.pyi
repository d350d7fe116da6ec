from .by_certainty import measure_parity as measure_parity
from .clustered_shares import Share as Share
from .detection import Scores as Scores
from .certainty_bins import Parity as Parity
