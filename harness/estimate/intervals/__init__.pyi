from .anytime import (
    DrawnAnswers as DrawnAnswers, draw_betting_sequence as draw_betting_sequence,
    draw_wealth as draw_wealth, likelihood_sequence as likelihood_sequence,
    obrien_fleming_constant as obrien_fleming_constant, obrien_fleming_level as obrien_fleming_level,
    score_betting_sequence as score_betting_sequence, weigh_outcomes as weigh_outcomes,
)
from .methods import (
    INTERVALS as INTERVALS, bernstein as bernstein, check_method as check_method, hoeffding as hoeffding,
    make_interval as make_interval, weighted_score as weighted_score,
)
from .shares import (
    ClusterVariance as ClusterVariance, DrawnStrata as DrawnStrata, FAR_ITEMS as FAR_ITEMS,
    design_effect as design_effect, drawn_interval as drawn_interval, effective_size as effective_size,
    scale_by_share as scale_by_share, share_interval as share_interval, skewed_step as skewed_step,
)
from .tilting import (
    TiltedMean as TiltedMean, TiltedRows as TiltedRows, collapse_rows as collapse_rows,
    fall_through_zero as fall_through_zero, join_rows as join_rows, outcomes_at as outcomes_at,
    plan_working as plan_working, score_at as score_at, tilt_items as tilt_items, tilt_of as tilt_of,
    tilted_outcomes as tilted_outcomes, tilted_score as tilted_score, uniform_rows as uniform_rows,
)
