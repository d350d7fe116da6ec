from .anytime import (
    likelihood_sequence as likelihood_sequence, obrien_fleming_level as obrien_fleming_level,
)
from .checks import (
    Check as Check, GoldAnswer as GoldAnswer, explain_failed_calls as explain_failed_calls,
    explain_failures as explain_failures,
    gold_errors as gold_errors, is_negligible as is_negligible, run_checks as run_checks,
)
from .classes import (
    ClassComparison as ClassComparison, ClassEstimates as ClassEstimates, CostTable as CostTable,
    UNREADABLE_COLUMN as UNREADABLE_COLUMN, check_metrics as check_metrics,
    classification_report as classification_report, compare_classes as compare_classes,
)
from .combinations import find_reason as find_reason, refuse as refuse
from .core import (
    BinomialSample as BinomialSample, FEWEST_EFFECTIVE as FEWEST_EFFECTIVE, Rate as Rate,
    RateChange as RateChange, binomial_at_least as binomial_at_least, check_clusters as check_clusters,
    check_known as check_known, check_least as check_least, check_level as check_level,
    check_rows as check_rows, check_unit as check_unit, chernoff_high as chernoff_high,
    chernoff_low as chernoff_low, clopper_pearson as clopper_pearson, compare_rates as compare_rates,
    count_effective as count_effective, effective_clusters as effective_clusters,
    find_root as find_root, holm as holm,
)
from .decoding import (
    UNIFORM_ASSUMPTIONS as UNIFORM_ASSUMPTIONS, UNIFORM_CHECKS as UNIFORM_CHECKS, decode as decode,
)
from .estimators import maximum_likelihood as maximum_likelihood
from .evaluation import (
    accuracies as accuracies, accuracy as accuracy, check_watchable as check_watchable,
    growing_accuracy as growing_accuracy,
)
from .evidence import (
    Evidence as Evidence, collected_part as collected_part, enough_clusters as enough_clusters,
    find_unequal as find_unequal, find_weights as find_weights, number_clusters as number_clusters,
)
from .expert_errors import ErrorRanges as ErrorRanges, GoldCounts as GoldCounts
from .gate import (
    ANY_TIME as ANY_TIME, FAIL as FAIL, GateVerdict as GateVerdict, PASS as PASS, UNDECIDED as UNDECIDED,
    WORST_CASE as WORST_CASE, gate_accuracy as gate_accuracy, gate_at_look as gate_at_look,
    gate_difference as gate_difference, judge_interval as judge_interval,
)
from .item_draws import (
    chances_by_deviation as chances_by_deviation, draw_in_proportion as draw_in_proportion,
    draw_with_chances as draw_with_chances, guess_right as guess_right, second_rates as second_rates,
    split_by_agreement as split_by_agreement,
)
from .judges import (
    AnswersSoFar as AnswersSoFar, JudgeOpinion as JudgeOpinion, fit_answers as fit_answers,
    guess_by_judges as guess_by_judges, judge_probabilities as judge_probabilities,
    score_ranks as score_ranks, split_items_evenly as split_items_evenly,
)
from .model_comparison import (
    COMPARE_TESTS as COMPARE_TESTS, ModelComparison as ModelComparison, Ranking as Ranking,
    compare as compare,
)
from .paired import (
    Comparison as Comparison, clustered_difference as clustered_difference,
    paired_proportions as paired_proportions,
)
from .pilot_plan import PilotPlan as PilotPlan, PlannedRow as PlannedRow, plan_from_pilot as plan_from_pilot
from .routed_means import (
    ROUTED_ASSUMPTIONS as ROUTED_ASSUMPTIONS, crossfitted_posterior as crossfitted_posterior,
    pseudo_outcomes as pseudo_outcomes, t_quantile as t_quantile,
)
from .routed_sample import (
    RESOLUTION_ASSUMPTIONS as RESOLUTION_ASSUMPTIONS, RoutedSample as RoutedSample,
    accuracy_target as accuracy_target, correctness as correctness, disagreement as disagreement,
    draw_options as draw_options, expected_questions as expected_questions,
    flat_posterior as flat_posterior, item_variance as item_variance, next_option as next_option,
    predicted_counts as predicted_counts, propensities_for as propensities_for,
    read_item_answers as read_item_answers, resolved_correctness as resolved_correctness,
    routed_pool as routed_pool, vote_posterior as vote_posterior,
)
from .sample_size import (
    QuestionPlan as QuestionPlan, REACHED as REACHED, SamplePlan as SamplePlan, plan as plan,
    synthesise_population as synthesise_population,
)
from .second import SecondQuestions as SecondQuestions
from .side_information import (
    ExpertErrors as ExpertErrors, JUDGED as JUDGED, Judges as Judges, Setting as Setting,
    SideInformation as SideInformation, Votes as Votes, WorkingMaker as WorkingMaker,
    estimate_models as estimate_models, heard_working as heard_working,
    model_accuracies as model_accuracies,
)
from .tallies import (
    CONFIDENCE as CONFIDENCE, Estimates as Estimates, ModelEstimates as ModelEstimates, Strata as Strata,
    estimate_counts as estimate_counts, find_strata as find_strata,
)
