from .pilot_plan import PilotPlan as PilotPlan, PlannedRow as PlannedRow, plan_from_pilot as plan_from_pilot
from .sample_size import (
    QuestionPlan as QuestionPlan, REACHED as REACHED, SamplePlan as SamplePlan,
    accuracy_variances as accuracy_variances,
    complementary_design_variance as complementary_design_variance,
    difference_variances as difference_variances, outcomes_to_settle as outcomes_to_settle, plan as plan,
    synthesise_population as synthesise_population, targeted_design_variance as targeted_design_variance,
    uniform_design_variance as uniform_design_variance,
)
