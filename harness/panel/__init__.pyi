from .agreement import (
    Agreement as Agreement, AgreementReport as AgreementReport, LEVELS as LEVELS, RELIABLE as RELIABLE,
    category_alphas as category_alphas, find_class_values as find_class_values, fleiss_kappa as fleiss_kappa,
    gwet_ac1 as gwet_ac1, krippendorff_alpha as krippendorff_alpha, measure_agreement as measure_agreement,
    pairwise as pairwise, parse_number as parse_number,
)
from .human_level import (
    HumanLevel as HumanLevel, hlpi as hlpi, hlpri as hlpri, human_level_choices as human_level_choices,
    human_level_tagging as human_level_tagging,
)
from .parity import Parity as Parity, Scores as Scores, Share as Share, measure_parity as measure_parity
from .ratings import (
    AGGREGATES as AGGREGATES, EDGES as EDGES, Panel as Panel, describe_strata as describe_strata,
    fit_dawid_skene as fit_dawid_skene, make_panel as make_panel,
    make_panel_from_grid as make_panel_from_grid, neyman_allocation as neyman_allocation,
    stratify_by_certainty as stratify_by_certainty,
)
from .superhuman import (
    AssumptionCheck as AssumptionCheck, CEILING_NAMES as CEILING_NAMES, DirectResult as DirectResult,
    Evidence as Evidence, GrowthPoint as GrowthPoint, SUPERHUMAN_TESTS as SUPERHUMAN_TESTS,
    Superhuman as Superhuman, assess_superhuman as assess_superhuman,
    assess_superhuman_from_counts as assess_superhuman_from_counts, betting_confidence as betting_confidence,
    certify as certify, compute_bounds_by_size as compute_bounds_by_size, differing as differing,
    direct_plan as direct_plan, direct_result as direct_result, draw_annotators as draw_annotators,
)
