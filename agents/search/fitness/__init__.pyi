from .archive import Archive as Archive, load_archive as load_archive
from .board import Board as Board, rounded as rounded, score_candidates as score_candidates
from .breakthroughs import (
    LOW as LOW, SIDE as SIDE, WINNER_LOW as WINNER_LOW, WINNER_SIDE as WINNER_SIDE,
    interval_ends as interval_ends,
)
from .expert_labels import keep_complementary as keep_complementary
from .empirical_bayes import design_effect as design_effect, least_variance as least_variance
from .empirical_bayes import compare_paired as compare_paired, shrink_scores as shrink_scores
from .expert_labels import (
    ClassCounts as ClassCounts, ExpertLabels as ExpertLabels, count_answers as count_answers,
    find_rates as find_rates,
)
from .power import Kind as Kind, measure_power as measure_power, simulated_labels as simulated_labels
from .board import ScoredRows as ScoredRows
from .scores import OUTCOME as OUTCOME, score_items as score_items
