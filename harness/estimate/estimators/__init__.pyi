from .ivw import plugin_weight as plugin_weight, varies as varies
from .likelihood import (
    closed_form as closed_form, information as information, inside as inside,
    log_likelihood as log_likelihood, maximum_likelihood as maximum_likelihood,
)
from .point import (
    POINTS as POINTS, Point as Point, check_estimator as check_estimator, make_point as make_point,
)
from .unbiased import complementary_accuracy as complementary_accuracy
