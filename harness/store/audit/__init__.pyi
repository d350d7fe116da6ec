from .audit_trail import (
    AuditEvent as AuditEvent, AuditRepository as AuditRepository, AuditRecord as AuditRecord,
    PAGE as PAGE, REFUSED as REFUSED, START as START,
    append_events as append_events,
)
from .design_rows import (
    BatchDigest as BatchDigest,
    DESIGN_PARTS as DESIGN_PARTS, DesignRepository as DesignRepository,
    StoredAnswerValue as StoredAnswerValue, REPLY_TABLES as REPLY_TABLES, RowsDigest as RowsDigest,
)
from .people import (
    Absence as Absence, AnswerLink as AnswerLink, Handover as Handover, PeopleRepository as PeopleRepository,
    write_moment as write_moment,
)
