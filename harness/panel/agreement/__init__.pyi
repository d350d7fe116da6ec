from .agreement_report import (
    AgreementReport as AgreementReport, RELIABLE as RELIABLE, measure_agreement as measure_agreement,
)
from .alpha import (
    Agreement as Agreement, category_alphas as category_alphas, krippendorff_alpha as krippendorff_alpha,
)
from .class_values import find_class_values as find_class_values, parse_number as parse_number
from .disagreement import LEVELS as LEVELS
from .kappa import (
    fleiss_kappa as fleiss_kappa, gwet_ac1 as gwet_ac1, pair_agreement as pair_agreement,
    pairwise as pairwise,
)
