from .agreement import (
    AgreementReport as AgreementReport, RELIABLE as RELIABLE, find_class_values as find_class_values,
    fleiss_kappa as fleiss_kappa, gwet_ac1 as gwet_ac1, measure_agreement as measure_agreement,
    pairwise as pairwise, parse_number as parse_number,
)
from .alpha import (
    Agreement as Agreement, LEVELS as LEVELS, category_alphas as category_alphas,
    krippendorff_alpha as krippendorff_alpha,
)
from .betting_test import (
    betting_confidence as betting_confidence,
)
from .ceiling import (
    GrowthPoint as GrowthPoint, compute_bounds_by_size as compute_bounds_by_size,
)
from .certainty import (
    EDGES as EDGES, stratify_by_certainty as stratify_by_certainty,
)
from .certificate import (
    Evidence as Evidence, certify as certify,
)
from .direct_comparison import (
    DirectResult as DirectResult, differing as differing, direct_plan as direct_plan,
    direct_result as direct_result, draw_annotators as draw_annotators,
)
from .human_level import (
    HumanLevel as HumanLevel, hlpi as hlpi, hlpri as hlpri, human_level_choices as human_level_choices,
    human_level_tagging as human_level_tagging,
)
from .parity import (
    Parity as Parity, Scores as Scores, measure_parity as measure_parity,
)
from .ratings import (
    AGGREGATES as AGGREGATES, Panel as Panel, fit_dawid_skene as fit_dawid_skene,
    make_panel as make_panel, make_panel_from_grid as make_panel_from_grid,
)
from .superhuman import (
    AssumptionCheck as AssumptionCheck, CEILING_NAMES as CEILING_NAMES,
    SUPERHUMAN_TESTS as SUPERHUMAN_TESTS, Superhuman as Superhuman,
    assess_superhuman as assess_superhuman,
    assess_superhuman_from_counts as assess_superhuman_from_counts,
)
from .weighted_units import (
    Share as Share,
)
