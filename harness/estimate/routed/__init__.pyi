from .annotator_error import (
    GOLD_ASSUMPTIONS as GOLD_ASSUMPTIONS, GoldCounts as GoldCounts, corrected_accuracy as corrected_accuracy,
    corrected_mean as corrected_mean, youden as youden,
)
from .doubly_robust import (
    crossfitted_posterior as crossfitted_posterior, informed as informed, item_variance as item_variance,
    optimal_constant as optimal_constant,
    pseudo_outcomes as pseudo_outcomes, weigh_votes as weigh_votes,
)
from .error_likelihood import ErrorRanges as ErrorRanges, bounded_accuracy as bounded_accuracy
from .error_rates import rate_ranges as rate_ranges, youden_interval as youden_interval
from .from_labels import (
    FEW_OPEN as FEW_OPEN, resolved_correctness as resolved_correctness, routed_pool as routed_pool,
)
from .gold_score import allows_gold_score as allows_gold_score, gold_accuracy as gold_accuracy
from .item_answers import read_item_answers as read_item_answers
from .means import (
    ROUTED_ASSUMPTIONS as ROUTED_ASSUMPTIONS, routed_accuracy as routed_accuracy, routed_mean as routed_mean,
    tilt_sample as tilt_sample, tilted_accuracy as tilted_accuracy, t_quantile as t_quantile,
)
from .pool_kinds import PoolKinds as PoolKinds
from .propensities import (
    disagreement as disagreement, draw_options as draw_options, neyman_rates as neyman_rates,
    predicted_counts as predicted_counts, propensities_for as propensities_for,
    shared_propensities as shared_propensities, targeted_propensities as targeted_propensities,
    vote_posterior as vote_posterior,
)
from .resolved_items import resolved_accuracy as resolved_accuracy
from .routed_sample import (
    RoutedSample as RoutedSample, accuracy_target as accuracy_target, check_predicted as check_predicted,
    difference_target as difference_target, flat_posterior as flat_posterior,
    settled_sample as settled_sample,
)
from .sequential_resolution import (
    RESOLUTION_ASSUMPTIONS as RESOLUTION_ASSUMPTIONS, correctness as correctness,
    expected_questions as expected_questions, next_option as next_option, questions_asked as questions_asked,
)
