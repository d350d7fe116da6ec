from .anytime import (
    likelihood_sequence as likelihood_sequence, obrien_fleming_constant as obrien_fleming_constant,
    obrien_fleming_level as obrien_fleming_level,
)
from .checks import (
    Check as Check, GoldAnswer as GoldAnswer, explain_failures as explain_failures,
    gold_errors as gold_errors, is_negligible as is_negligible, run_checks as run_checks,
)
from .classes import (
    ClassComparison as ClassComparison, ClassEstimates as ClassEstimates, CostTable as CostTable,
    UNREADABLE_COLUMN as UNREADABLE_COLUMN, check_metrics as check_metrics,
    classification_report as classification_report, compare_classes as compare_classes,
)
from .combinations import (
    DESIGNS as DESIGNS, FEATURES as FEATURES, NO_EFFECT as NO_EFFECT, RULES as RULES, USES as USES,
    find_reason as find_reason, find_rule as find_rule, refuse as refuse,
)
from .core import (
    BinomialSample as BinomialSample, FEWEST_EFFECTIVE as FEWEST_EFFECTIVE, Rate as Rate,
    RateChange as RateChange, binomial_at_least as binomial_at_least, check_clusters as check_clusters,
    check_known as check_known, check_least as check_least, check_level as check_level,
    check_rows as check_rows, check_unit as check_unit, chernoff_high as chernoff_high,
    chernoff_low as chernoff_low, clopper_pearson as clopper_pearson, compare_rates as compare_rates,
    count_effective as count_effective, effective_clusters as effective_clusters, find_equal as find_equal,
    find_root as find_root, holm as holm, success_probability as success_probability,
)
from .decoding import (
    UNIFORM_ASSUMPTIONS as UNIFORM_ASSUMPTIONS, UNIFORM_CHECKS as UNIFORM_CHECKS, decode as decode,
)
from .estimators import (
    POINTS as POINTS, Point as Point, closed_form as closed_form,
    complementary_accuracy as complementary_accuracy, make_point as make_point,
    maximum_likelihood as maximum_likelihood, plugin_weight as plugin_weight, varies as varies,
)
from .evaluation import (
    accuracies as accuracies, accuracy as accuracy, check_watchable as check_watchable,
    growing_accuracy as growing_accuracy,
)
from .evidence import (
    Evidence as Evidence, collected_part as collected_part, enough_clusters as enough_clusters,
    find_unequal as find_unequal, find_weights as find_weights,
    number_clusters as number_clusters, read_queues as read_queues,
)
from .expert_errors import (
    ErrorRanges as ErrorRanges, GoldCounts as GoldCounts, corrected_accuracy as corrected_accuracy,
)
from .gate import (
    ANY_TIME as ANY_TIME, FAIL as FAIL, GateVerdict as GateVerdict, PASS as PASS, UNDECIDED as UNDECIDED,
    gate_accuracy as gate_accuracy, gate_at_look as gate_at_look, gate_difference as gate_difference,
)
from .intervals import (
    INTERVALS as INTERVALS, bernstein as bernstein, hoeffding as hoeffding, make_interval as make_interval,
)
from .item_draws import (
    chances_by_deviation as chances_by_deviation, draw_in_proportion as draw_in_proportion,
    draw_with_chances as draw_with_chances, guess_right as guess_right, second_rates as second_rates,
    split_by_agreement as split_by_agreement,
)
from .judges import (
    AnswersSoFar as AnswersSoFar, JudgeOpinion as JudgeOpinion, guess_by_judges as guess_by_judges,
    judge_probabilities as judge_probabilities, split_items_evenly as split_items_evenly,
)
from .model_comparison import (
    ADJUSTMENTS as ADJUSTMENTS, COMPARE_TESTS as COMPARE_TESTS, ModelComparison as ModelComparison,
    Ranking as Ranking, compare as compare, rank_models as rank_models,
)
from .paired import (
    Comparison as Comparison, clustered_difference as clustered_difference, mcnemar as mcnemar,
    paired_difference as paired_difference, paired_proportions as paired_proportions,
    sign_test as sign_test,
)
from .pilot_plan import PilotPlan as PilotPlan, PlannedRow as PlannedRow, plan_from_pilot as plan_from_pilot
from .routed_means import (
    ROUTED_ASSUMPTIONS as ROUTED_ASSUMPTIONS, crossfitted_posterior as crossfitted_posterior,
    pseudo_outcomes as pseudo_outcomes, resolved_accuracy as resolved_accuracy,
    routed_accuracy as routed_accuracy, routed_mean as routed_mean, t_quantile as t_quantile,
)
from .routed_sample import (
    RESOLUTION_ASSUMPTIONS as RESOLUTION_ASSUMPTIONS, RoutedSample as RoutedSample,
    accuracy_target as accuracy_target, correctness as correctness, difference_target as difference_target,
    disagreement as disagreement, draw_options as draw_options, expected_questions as expected_questions,
    flat_posterior as flat_posterior, item_variance as item_variance, next_option as next_option,
    neyman_rates as neyman_rates, predicted_counts as predicted_counts,
    propensities_for as propensities_for, questions_asked as questions_asked,
    read_item_answers as read_item_answers, resolved_correctness as resolved_correctness,
    routed_pool as routed_pool,
    shared_propensities as shared_propensities, targeted_propensities as targeted_propensities,
    vote_posterior as vote_posterior,
)
from .sample_size import (
    QuestionPlan as QuestionPlan, REACHED as REACHED, SamplePlan as SamplePlan,
    accuracy_variances as accuracy_variances,
    complementary_design_variance as complementary_design_variance,
    difference_variances as difference_variances, outcomes_to_settle as outcomes_to_settle, plan as plan,
    synthesise_population as synthesise_population, targeted_design_variance as targeted_design_variance,
    uniform_design_variance as uniform_design_variance,
)
from .second import DEEPENED as DEEPENED, SecondQuestions as SecondQuestions
from .side_information import (
    ASSISTED as ASSISTED, ExpertErrors as ExpertErrors, JUDGED as JUDGED, Judges as Judges,
    Setting as Setting, SideInformation as SideInformation, Votes as Votes,
    WorkingMaker as WorkingMaker, estimate_working as estimate_working,
    estimate_models as estimate_models, judged_accuracy as judged_accuracy, measure_worth as measure_worth,
    model_accuracies as model_accuracies,
)
from .tallies import (
    CONFIDENCE as CONFIDENCE, Estimates as Estimates, ModelEstimates as ModelEstimates, Strata as Strata,
    Tallies as Tallies, Tally as Tally, all_estimators as all_estimators,
    estimate_counts as estimate_counts, estimate_tallies as estimate_tallies, find_strata as find_strata,
    tally as tally,
)
