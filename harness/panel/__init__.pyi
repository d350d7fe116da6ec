from .agreement import (
    AgreementReport as AgreementReport, RELIABLE as RELIABLE, find_class_values as find_class_values,
    measure_agreement as measure_agreement, pairwise as pairwise, parse_number as parse_number,
)
from .alternative import (
    Alternative as Alternative, EPSILON as EPSILON, assess_alternative as assess_alternative,
)
from .alpha import LEVELS as LEVELS, krippendorff_alpha as krippendorff_alpha
from .ceiling import GrowthPoint as GrowthPoint, compute_bounds_by_size as compute_bounds_by_size
from .certainty import EDGES as EDGES, stratify_by_certainty as stratify_by_certainty
from .direct_comparison import (
    DirectResult as DirectResult, differing as differing, direct_result as direct_result,
    draw_annotators as draw_annotators,
)
from .human_level import (
    HumanLevel as HumanLevel, hlpi as hlpi, hlpri as hlpri, human_level_choices as human_level_choices,
    human_level_tagging as human_level_tagging,
)
from .parity import Parity as Parity, Scores as Scores, measure_parity as measure_parity
from .ratings import Panel as Panel, make_panel as make_panel
from .superhuman import (
    AssumptionCheck as AssumptionCheck, CEILING_NAMES as CEILING_NAMES,
    SUPERHUMAN_TESTS as SUPERHUMAN_TESTS, Superhuman as Superhuman,
    assess_superhuman as assess_superhuman,
    assess_superhuman_from_counts as assess_superhuman_from_counts,
)
from .weighted_units import Share as Share
