from .absences import Absence as Absence, AbsenceRepository as AbsenceRepository
from .answer_links import (
    AnswerLink as AnswerLink, LinkRepository as LinkRepository, write_moment as write_moment,
)
from .answer_trail import AnswerTrailRepository as AnswerTrailRepository, PAGE as PAGE, REFUSED as REFUSED
from .audit_trail import (
    AuditEvent as AuditEvent, AuditRepository as AuditRepository, AuditRecord as AuditRecord, START as START,
    BatchDigest as BatchDigest, append_events as append_events,
)
from .design_rows import (
    DESIGN_PARTS as DESIGN_PARTS, DesignRepository as DesignRepository, KeptAnswer as KeptAnswer,
    REPLY_TABLES as REPLY_TABLES, RowsDigest as RowsDigest,
)
from .handovers import Handover as Handover, HandoverRepository as HandoverRepository
