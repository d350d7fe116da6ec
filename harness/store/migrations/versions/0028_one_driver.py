"""One process makes a run: leases, workers and shared limits go; a lock holds until its process has ended."""

from alembic import op

revision = "0028"
down_revision = "0026"
branch_labels = None
depends_on = None

_GONE = (
    "program_portion",
    "program_work",
    "lease",
    "joint_part",
    "worker",
    "late_answer",
    "pace",
    "joint_run",
)
_CLAIMED = """
INSERT INTO calls_under_way (run_id, requests, input_tokens, output_tokens)
SELECT work_id, sum(requests), sum(input_tokens), sum(output_tokens)
FROM call_claim WHERE work_id IN (SELECT id FROM run) GROUP BY work_id
ON CONFLICT (run_id) DO UPDATE SET
requests = calls_under_way.requests + excluded.requests,
input_tokens = calls_under_way.input_tokens + excluded.input_tokens,
output_tokens = calls_under_way.output_tokens + excluded.output_tokens
"""


def upgrade() -> None:
    op.execute(_CLAIMED)  # so that the next command charges the run for them
    for table in ("call_claim", *_GONE):
        op.drop_table(table)
    op.drop_index("ix_reservation_worker", "reservation")
    op.drop_column("reservation", "worker")
    op.drop_column("run_lock", "expires")


def downgrade() -> None:
    raise NotImplementedError("the tables of several workers are gone")
