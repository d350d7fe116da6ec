from .rehearsed_studies import REACHED as REACHED
from .pilot_plan import PilotPlan as PilotPlan, plan_from_pilot as plan_from_pilot
from .planned_row import PlannedRow as PlannedRow
from .priced_protocols import plan as plan
from .sample_size import (
    SamplePlan as SamplePlan, accuracy_variances as accuracy_variances,
    complementary_design_variance as complementary_design_variance,
    difference_variances as difference_variances, targeted_design_variance as targeted_design_variance,
    uniform_design_variance as uniform_design_variance,
)
from .sample_size import outcomes_to_settle as outcomes_to_settle
from .sample_size import synthesise_population as synthesise_population
