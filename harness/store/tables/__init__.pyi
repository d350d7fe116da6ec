from .audit_tables import (
    AnswerLinkRow as AnswerLinkRow,
    AbsenceRow as AbsenceRow, AuditEventRow as AuditEventRow, HandoverRow as HandoverRow,
)
from .content_tables import (
    AnswerRow as AnswerRow, AssignmentRow as AssignmentRow, ControlAnswerRow as ControlAnswerRow,
    ControlQuestionRow as ControlQuestionRow, DatabaseMarkRow as DatabaseMarkRow, GoldItemRow as GoldItemRow,
    ItemDrawRow as ItemDrawRow, ItemRow as ItemRow, ItemSourceRow as ItemSourceRow, LookRow as LookRow,
    PoolItemRow as PoolItemRow, QuestionKeyRow as QuestionKeyRow, QuestionRow as QuestionRow,
    RatingRow as RatingRow,
)
from .insertion import (
    count_rows as count_rows, execute_many as execute_many, insert_into as insert_into,
    insert_tuples as insert_tuples, row_of as row_of, select_values as select_values, upsert as upsert,
    upsert_tuples as upsert_tuples, value_of as value_of,
)
from .labelling_tables import (
    LabelQuarantineRow as LabelQuarantineRow, LabelQueueRow as LabelQueueRow,
    LabelRevisionRow as LabelRevisionRow, LabelTaskRow as LabelTaskRow,
)
from .open_tables import (
    OpenAnswerRow as OpenAnswerRow, UnitDrawRow as UnitDrawRow, UnitRow as UnitRow,
)
from .run_tables import (
    BatchRow as BatchRow, CallRow as CallRow, CandidateAnswerRow as CandidateAnswerRow,
    CandidateRow as CandidateRow, JudgeProbabilityRow as JudgeProbabilityRow, LedgerRow as LedgerRow,
    PredictionRow as PredictionRow, ProbeRow as ProbeRow, RunColumnsRow as RunColumnsRow,
    RunLockRow as RunLockRow, RunRow as RunRow, RunVersionRow as RunVersionRow,
    SearchEventRow as SearchEventRow, SearchItemRow as SearchItemRow, SearchRow as SearchRow,
)
