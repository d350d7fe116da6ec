from .answer_check import AuditFindings as AuditFindings
from .audit_check import Audit as Audit, CheckedIds as CheckedIds, Freeze as Freeze
from .bundle_check import audit_bundle as audit_bundle
from .bundle_writing import write_bundle as write_bundle
from .design_freeze import DesignFreeze as DesignFreeze
from .study_check import audit_study as audit_study, count_findings as count_findings
