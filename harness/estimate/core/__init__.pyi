from .distributions import (
    BinomialSample as BinomialSample, Rate as Rate, RateChange as RateChange,
    binomial_at_least as binomial_at_least, blaker as blaker, bonferroni as bonferroni,
    chernoff_high as chernoff_high, chernoff_low as chernoff_low, chi2_tail as chi2_tail,
    clopper_pearson as clopper_pearson, compare_rates as compare_rates,
    effective_options as effective_options, holm as holm, jeffreys as jeffreys,
    range_quantile as range_quantile, range_tail as range_tail, sign_p_value as sign_p_value,
    success_probability as success_probability, two_sided as two_sided, wilson as wilson,
    z_of_sum as z_of_sum, z_value as z_value,
)
from .numeric import (
    FEWEST_EFFECTIVE as FEWEST_EFFECTIVE, check_clusters as check_clusters,
    count_effective as count_effective, effective_clusters as effective_clusters,
    find_equal as find_equal, find_root as find_root,
)
from .validation import (
    check_count as check_count, check_counts as check_counts, check_items as check_items,
    check_known as check_known, check_least as check_least, check_level as check_level,
    check_options as check_options, check_positive as check_positive, check_rows as check_rows,
    check_successes as check_successes, check_unit as check_unit,
)
from .numeric import fix_constant as fix_constant
