from .beside_estimates import add_side_information as add_side_information
from .planned_study import plan_study as plan_study
