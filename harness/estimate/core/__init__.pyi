from .binomial import (
    BinomialSample as BinomialSample, clopper_pearson as clopper_pearson,
    effective_options as effective_options, jeffreys as jeffreys, success_probability as success_probability,
    wilson as wilson, z_value as z_value,
)
from .binomial import blaker as blaker
from .effective_counts import (
    FEWEST_EFFECTIVE as FEWEST_EFFECTIVE, check_clusters as check_clusters,
    count_effective as count_effective, effective_clusters as effective_clusters,
)
from .equal_rows import find_equal as find_equal
from .p_values import (
    binomial_at_least as binomial_at_least, bonferroni as bonferroni, chernoff_high as chernoff_high,
    chernoff_low as chernoff_low, chi2_tail as chi2_tail, holm as holm, sign_p_value as sign_p_value,
    two_sided as two_sided, z_of_sum as z_of_sum,
)
from .binomial import Rate as Rate, RateChange as RateChange, compare_rates as compare_rates
from .roots import find_root as find_root
from .studentized_range import range_quantile as range_quantile, range_tail as range_tail
from .validation import (
    check_count as check_count, check_counts as check_counts, check_items as check_items,
    check_known as check_known, check_least as check_least, check_level as check_level,
    check_options as check_options, check_positive as check_positive, check_rows as check_rows,
    check_successes as check_successes, check_unit as check_unit,
)
