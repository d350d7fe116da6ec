"""The audit trail, which is a hash chain; also absences, handovers and personal codes of experts."""
