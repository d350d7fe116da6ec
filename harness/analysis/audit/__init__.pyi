from .bundle_check import BundleAudit as BundleAudit, audit_bundle as audit_bundle
from .bundle_writing import WrittenBundle as WrittenBundle, write_bundle as write_bundle
from .design_freeze import DesignFreeze as DesignFreeze
from .answer_check import AuditFindings as AuditFindings
from .study_check import CheckedIds as CheckedIds
from .study_check import (
    Freeze as Freeze, StudyAudit as StudyAudit, audit_study as audit_study, count_findings as count_findings,
)
