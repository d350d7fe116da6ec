from .dependence import error_dependence as error_dependence
from .mixes import PricedPlan as PricedPlan, mix_sentence as mix_sentence, price_plans as price_plans
from .probabilities import JudgeProbabilities as JudgeProbabilities, share_of_samples as share_of_samples
from .quality import (
    area_under_curve as area_under_curve, calibration as calibration, judge_quality as judge_quality,
)
from .questions import JudgedQuestions as JudgedQuestions, OPTIONS as OPTIONS, PREDICTIONS as PREDICTIONS
from .shares import Measure as Measure, weighted_share as weighted_share
from .weighting import judges_working as judges_working, weigh_judges as weigh_judges
from .transport import Calibration as Calibration, calibrate as calibrate, check_transport as check_transport
from .decisions import KINDS as KINDS, ask_judge as ask_judge
from .judge_text import (
    read_judges as read_judges, report_lines as report_lines, report_to_json as report_to_json,
)
from .sources import import_probabilities as import_probabilities
from .study_judges import (
    JudgeQuestion as JudgeQuestion, report_judges as report_judges, transport_verdict as transport_verdict,
)
