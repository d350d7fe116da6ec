from .audit_tables import (
    AnswerLinkRow as AnswerLinkRow,
    AbsenceRow as AbsenceRow, AuditEventRow as AuditEventRow, HandoverRow as HandoverRow,
)
from .content_tables import (
    DatabaseMarkRow as DatabaseMarkRow,
    AnswerRow as AnswerRow, AssignmentRow as AssignmentRow, ItemDrawRow as ItemDrawRow, ItemRow as ItemRow,
    ItemSourceRow as ItemSourceRow, LookRow as LookRow, PoolItemRow as PoolItemRow,
    QuestionRow as QuestionRow, RatingRow as RatingRow,
)
from .control_tables import (
    ControlAnswerRow as ControlAnswerRow, ControlQuestionRow as ControlQuestionRow,
    GoldItemRow as GoldItemRow, QuestionKeyRow as QuestionKeyRow,
)
from .insertion import (
    execute_many as execute_many, insert_into as insert_into, insert_tuples as insert_tuples,
    upsert as upsert, upsert_tuples as upsert_tuples,
)
from .labelling_tables import (
    LabelQuarantineRow as LabelQuarantineRow, LabelQueueRow as LabelQueueRow,
    LabelRevisionRow as LabelRevisionRow, LabelTaskRow as LabelTaskRow,
)
from .open_tables import (
    OpenAnswerRow as OpenAnswerRow, UnitDrawRow as UnitDrawRow, UnitRow as UnitRow,
)
from .row_values import (
    count_rows as count_rows, row_of as row_of, select_values as select_values, value_of as value_of,
)
from .run_tables import (
    BatchRow as BatchRow, CallRow as CallRow, JudgeProbabilityRow as JudgeProbabilityRow,
    LedgerRow as LedgerRow, PredictionRow as PredictionRow,
    ProbeRow as ProbeRow, RunColumnsRow as RunColumnsRow,
    RunLockRow as RunLockRow, RunRow as RunRow, RunVersionRow as RunVersionRow,
)
from .search_tables import (
    CandidateAnswerRow as CandidateAnswerRow, CandidateRow as CandidateRow, SearchEventRow as SearchEventRow,
    SearchItemRow as SearchItemRow, SearchRow as SearchRow,
)
