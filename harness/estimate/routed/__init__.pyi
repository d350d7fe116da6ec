from .expert_errors import (
    ErrorRanges as ErrorRanges, GOLD_ASSUMPTIONS as GOLD_ASSUMPTIONS, GoldCounts as GoldCounts,
    allows_gold_score as allows_gold_score, bounded_accuracy as bounded_accuracy,
    corrected_accuracy as corrected_accuracy, corrected_mean as corrected_mean,
    gold_accuracy as gold_accuracy, rate_ranges as rate_ranges, youden as youden,
    youden_interval as youden_interval,
)
from .means import (
    ROUTED_ASSUMPTIONS as ROUTED_ASSUMPTIONS, crossfitted_posterior as crossfitted_posterior,
    informed as informed, pseudo_outcomes as pseudo_outcomes, resolved_accuracy as resolved_accuracy,
    routed_accuracy as routed_accuracy, routed_mean as routed_mean, t_quantile as t_quantile,
    tilt_sample as tilt_sample, tilted_accuracy as tilted_accuracy, weigh_votes as weigh_votes,
)
from .propensities import (
    RESOLUTION_ASSUMPTIONS as RESOLUTION_ASSUMPTIONS, correctness as correctness,
    disagreement as disagreement, draw_options as draw_options, expected_questions as expected_questions,
    item_variance as item_variance, next_option as next_option, neyman_rates as neyman_rates,
    optimal_constant as optimal_constant, predicted_counts as predicted_counts,
    propensities_for as propensities_for, questions_asked as questions_asked,
    shared_propensities as shared_propensities, targeted_propensities as targeted_propensities,
    vote_posterior as vote_posterior,
)
from .routed_sample import (
    FEW_OPEN as FEW_OPEN, PoolKinds as PoolKinds, RoutedSample as RoutedSample,
    accuracy_target as accuracy_target, check_predicted as check_predicted,
    difference_target as difference_target, flat_posterior as flat_posterior,
    read_item_answers as read_item_answers, resolved_correctness as resolved_correctness,
    routed_pool as routed_pool, settled_sample as settled_sample,
)
