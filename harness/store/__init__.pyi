from .audit.audit_trail import (
    PAGE as PAGE, REFUSED as REFUSED, START as START, append_events as append_events,
)
from .audit.design_rows import (
    BatchDigest as BatchDigest, DESIGN_PARTS as DESIGN_PARTS, StoredAnswerValue as StoredAnswerValue,
    REPLY_TABLES as REPLY_TABLES, RowsDigest as RowsDigest,
)
from .calls.call_repository import Spending as Spending, UNDER_WAY as UNDER_WAY, Uncertain as Uncertain
from .calls.run_locks import HeldLocks as HeldLocks
from .columns.run_columns import RunColumns as RunColumns
from .columns.shown_columns import ShownRepository as ShownRepository, mark_shown as mark_shown
from .controls.control_questions import GoldItem as GoldItem
from .database import PORTION as PORTION, split_into_batches as split_into_batches
from .copying import copy_rows as copy_rows, move_rows as move_rows
from .engines.addresses import has_database as has_database
from .labelling import LabellingRepository as LabellingRepository, Pulled as Pulled, SOURCE as SOURCE
from .replies import ReplyFields as ReplyFields, ReplyRepository as ReplyRepository, Response as Response
from .runs import (
    ERASED as ERASED,
    ImportedFields as ImportedFields, add_usage as add_usage, take_vote as take_vote,
    RecordedPrice as RecordedPrice,
)
from .searches import (
    SEARCHES as SEARCHES,
    CandidateColumns as CandidateColumns, STATUSES as STATUSES, SearchProgress as SearchProgress,
    SearchRepository as SearchRepository,
)
from .serialization import write_meta as write_meta
from .tables.study_tables import (
    Absence as Absence, AnswerLink as AnswerLink, AuditEvent as AuditEvent, AuditRecord as AuditRecord,
    Handover as Handover, write_moment as write_moment, ControlKind as ControlKind,
    ControlQuestion as ControlQuestion, DrawnExpert as DrawnExpert, ItemDraw as ItemDraw,
    PlannedLook as PlannedLook, StoredAnswer as StoredAnswer, StoredUnit as StoredUnit,
    Quarantined as Quarantined, Queue as Queue, QueuedTask as QueuedTask, Revision as Revision,
    hash_annotation as hash_annotation, Batch as Batch, ReservedAnswer as ReservedAnswer,
    StoredCall as StoredCall,
)
from .withdrawal import Withdrawn as Withdrawn, read_item_meta as read_item_meta, scrub_file as scrub_file
from .study_store import Store as Store, refuse_mark as refuse_mark
from .schema import HEAD as HEAD
from .upgrade import name_schema as name_schema, upgrade_database as upgrade_database
