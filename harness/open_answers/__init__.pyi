from .draw import (
    Draw as Draw, SCHEMES as SCHEMES, draw_questions as draw_questions, join_replies as join_replies,
)
from .estimates import (
    OpenEstimate as OpenEstimate, OpenResult as OpenResult, estimate_open as estimate_open,
)
from .experts import ExpertReplies as ExpertReplies, measure_experts as measure_experts
from .units import Judgements as Judgements, UnitTable as UnitTable
from .answer_frame import (
    Frame as Frame, make_frame as make_frame, read_frame as read_frame,
    show_answer as show_answer,
)
from .judged_study import store_gold_units as store_gold_units
from .judged_answers import read_judged_answers as read_judged_answers
from .judged_study import (
    JudgedStudy as JudgedStudy, estimate_study as estimate_study, match_probabilities as match_probabilities,
    read_judged as read_judged,
)
from .model_judge import ask_judge as ask_judge
from .new_open_study import begin_open_study as begin_open_study
from .open_gate import gate_open_study as gate_open_study, judge_score as judge_score
from .result_texts import result_to_json as result_to_json, result_to_text as result_to_text
from .rubric_files import (
    read_unit_key as read_unit_key, read_units as read_units, write_units as write_units,
)
