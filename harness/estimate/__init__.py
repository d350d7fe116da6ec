"""Accuracy and its uncertainty from expert labels: pure functions, arrays in, `Estimate` out."""

from harness.estimate.checks.check import Check
from harness.estimate.checks.suite import run_checks
from harness.estimate.compare.paired import Comparison, mcnemar, paired_difference, sign_test
from harness.estimate.compare.ranking import Ranking, adjust, rank_models
from harness.estimate.core.binomial_sample import BinomialSample
from harness.estimate.counts import estimate_counts
from harness.estimate.data.tallies import Tallies, Tally, tally, tally_arrays
from harness.estimate.estimators.hui_walter import hui_walter_accuracy
from harness.estimate.estimators.point import POINTS
from harness.estimate.evaluation import accuracies, accuracy
from harness.estimate.intervals.anytime import (
    betting_sequence,
    likelihood_sequence,
    obrien_fleming_constant,
    obrien_fleming_level,
)
from harness.estimate.intervals.methods import INTERVALS
from harness.estimate.planning.sample_size import (
    SamplePlan,
    accuracy_variances,
    difference_variances,
    make_plan,
)
from harness.estimate.routed.annotator_error import (
    GoldCounts,
    corrected_accuracy,
    corrected_mean,
    immune_accuracy,
)
from harness.estimate.routed.crossfit import crossfitted_posterior
from harness.estimate.routed.doubly_robust import pseudo_outcome_bounds, pseudo_outcomes
from harness.estimate.routed.means import routed_accuracy, routed_mean, sampled_mean
from harness.estimate.routed.propensities import (
    disagreement,
    draw_options,
    neyman_rates,
    shared_propensities,
    targeted_propensities,
    vote_posterior,
)
from harness.estimate.routed.routed_sample import RoutedSample, accuracy_target, difference_target
from harness.estimate.routed.sequential_resolution import next_option, resolved_accuracy
from harness.estimate.strata.stratified import Estimates, all_estimators, estimate_tallies

__all__ = [
    "INTERVALS",
    "POINTS",
    "BinomialSample",
    "Check",
    "Comparison",
    "Estimates",
    "GoldCounts",
    "Ranking",
    "RoutedSample",
    "SamplePlan",
    "Tallies",
    "Tally",
    "accuracies",
    "accuracy",
    "accuracy_target",
    "accuracy_variances",
    "adjust",
    "all_estimators",
    "betting_sequence",
    "corrected_accuracy",
    "corrected_mean",
    "crossfitted_posterior",
    "difference_target",
    "difference_variances",
    "disagreement",
    "draw_options",
    "estimate_counts",
    "estimate_tallies",
    "hui_walter_accuracy",
    "immune_accuracy",
    "likelihood_sequence",
    "make_plan",
    "mcnemar",
    "next_option",
    "neyman_rates",
    "obrien_fleming_constant",
    "obrien_fleming_level",
    "paired_difference",
    "pseudo_outcome_bounds",
    "pseudo_outcomes",
    "rank_models",
    "resolved_accuracy",
    "routed_accuracy",
    "routed_mean",
    "run_checks",
    "sampled_mean",
    "shared_propensities",
    "sign_test",
    "tally",
    "tally_arrays",
    "targeted_propensities",
    "vote_posterior",
]
