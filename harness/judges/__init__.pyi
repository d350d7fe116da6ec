from .dependence import (
    Dependence as Dependence, ErrorCorrelation as ErrorCorrelation, error_dependence as error_dependence,
)
from .mixes import PricedPlan as PricedPlan, mix_sentence as mix_sentence, price_plans as price_plans
from .probabilities import JudgeProbabilities as JudgeProbabilities, share_of_samples as share_of_samples
from .quality import (
    CalibrationBin as CalibrationBin, ClassQuality as ClassQuality, JudgeQuality as JudgeQuality,
    area_under_curve as area_under_curve, calibration as calibration, judge_quality as judge_quality,
)
from .questions import (
    JudgedQuestions as JudgedQuestions, OPTIONS as OPTIONS, PREDICTIONS as PREDICTIONS,
    judged_questions as judged_questions,
)
from .shares import Measure as Measure, weighted_share as weighted_share
from .weighting import judges_working as judges_working, weigh_judges as weigh_judges
from .transport import (
    Calibration as Calibration, MOST_QUESTIONS as MOST_QUESTIONS, Transport as Transport,
    TransportPart as TransportPart, calibrate as calibrate, check_transport as check_transport,
)
from .decisions import (
    AskedJudge as AskedJudge, KINDS as KINDS, ask_judge as ask_judge, make_questions as make_questions,
    read_answers as read_answers,
)
from .judge_words import (
    read_judges as read_judges, report_lines as report_lines, report_to_json as report_to_json,
)
from .sources import (
    ImportedJudge as ImportedJudge, import_probabilities as import_probabilities, read_judge as read_judge,
)
from .study_judges import (
    CorrectedAccuracy as CorrectedAccuracy, JudgeQuestion as JudgeQuestion, JudgeReport as JudgeReport,
    TransportGroup as TransportGroup, WeighedJudges as WeighedJudges, judge_verdict as judge_verdict,
    report_judges as report_judges, transport_verdict as transport_verdict,
)
