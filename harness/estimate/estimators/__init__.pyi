from .hui_walter import hui_walter_accuracy as hui_walter_accuracy
from .ivw import (
    ivw_accuracy as ivw_accuracy, mix_variance as mix_variance, plugin_weight as plugin_weight,
    safe_plugin_weight as safe_plugin_weight, varies as varies,
)
from .ivw_split import (
    cross_fitted as cross_fitted, grid_weight as grid_weight, sample_split as sample_split,
    scaled_weight as scaled_weight,
)
from .likelihood import (
    closed_form as closed_form, information as information, inside as inside,
    log_likelihood as log_likelihood, maximum_likelihood as maximum_likelihood,
    one_step_newton as one_step_newton,
)
from .point import (
    POINTS as POINTS, Point as Point, check_estimator as check_estimator, make_point as make_point,
)
from .unbiased import (
    complementary_accuracy as complementary_accuracy, matching_sample_size as matching_sample_size,
    ordinary_accuracy as ordinary_accuracy, variance_ratio as variance_ratio,
)
