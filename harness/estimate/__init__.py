"""Accuracy and its uncertainty from expert labels: pure functions, arrays in, `Estimate` out."""

from harness.estimate.accuracy import accuracies, accuracy
from harness.estimate.check import Check
from harness.estimate.checks import checks
from harness.estimate.component import Component
from harness.estimate.counts import estimate_counts
from harness.estimate.intervals import INTERVALS
from harness.estimate.point import POINTS
from harness.estimate.stratified import Estimates, all_estimators, estimate_tallies
from harness.estimate.tally import Tallies, Tally, tally, tally_arrays

__all__ = [
    "INTERVALS",
    "POINTS",
    "Check",
    "Component",
    "Estimates",
    "Tallies",
    "Tally",
    "accuracies",
    "accuracy",
    "all_estimators",
    "checks",
    "estimate_counts",
    "estimate_tallies",
    "tally",
    "tally_arrays",
]
