from .assumptions import AssumptionCheck as AssumptionCheck
from .betting_test import betting_confidence as betting_confidence
from .bounds_by_panel_size import (
    GrowthPoint as GrowthPoint, compute_bounds_by_size as compute_bounds_by_size,
)
from .certificate import Evidence as Evidence, certify as certify
from .decision import (
    SUPERHUMAN_TESTS as SUPERHUMAN_TESTS, assess_superhuman as assess_superhuman,
    assess_superhuman_from_counts as assess_superhuman_from_counts,
)
from .direct_comparison import (
    DirectResult as DirectResult, differing as differing, direct_plan as direct_plan,
    direct_result as direct_result, draw_annotators as draw_annotators,
)
from .verdict import CEILING_NAMES as CEILING_NAMES, Superhuman as Superhuman
