from .draw import (
    Draw as Draw, SCHEMES as SCHEMES, draw_questions as draw_questions, join_replies as join_replies,
)
from .estimates import (
    OpenEstimate as OpenEstimate, OpenResult as OpenResult, estimate_open as estimate_open,
    gate_score as gate_score,
)
from .experts import ExpertReplies as ExpertReplies, measure_experts as measure_experts
from .units import (
    CANNOT_TELL as CANNOT_TELL, Judgements as Judgements, NOT_MY_FIELD as NOT_MY_FIELD,
    OpenAnswer as OpenAnswer, REPLIES as REPLIES, Unit as Unit, UnitTable as UnitTable,
    cross_units as cross_units,
)
