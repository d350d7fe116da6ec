from .anytime import (
    likelihood_sequence as likelihood_sequence, obrien_fleming_constant as obrien_fleming_constant,
    obrien_fleming_level as obrien_fleming_level,
)
from .clusters import ClusterVariance as ClusterVariance, skewed_step as skewed_step
from .deviation import bernstein as bernstein, hoeffding as hoeffding
from .draw_betting import (
    DrawnAnswers as DrawnAnswers, draw_betting_sequence as draw_betting_sequence,
    draw_wealth as draw_wealth, weigh_outcomes as weigh_outcomes,
)
from .drawn_strata import (
    DrawnStrata as DrawnStrata, FAR_ITEMS as FAR_ITEMS, design_effect as design_effect,
    drawn_interval as drawn_interval,
)
from .methods import INTERVALS as INTERVALS, check_method as check_method, make_interval as make_interval
from .score_betting import score_betting_sequence as score_betting_sequence
from .shares import (
    effective_size as effective_size, scale_by_share as scale_by_share, share_interval as share_interval,
)
from .tilted_rows import (
    TiltedRows as TiltedRows, collapse_rows as collapse_rows, join_rows as join_rows,
    plan_working as plan_working, tilt_items as tilt_items, uniform_rows as uniform_rows,
)
from .tilting import (
    TiltedMean as TiltedMean, fall_through_zero as fall_through_zero, outcomes_at as outcomes_at,
    score_at as score_at, tilt_of as tilt_of, tilted_outcomes as tilted_outcomes,
    tilted_score as tilted_score,
)
from .weighting import weighted_score as weighted_score
