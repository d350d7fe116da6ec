from .candidate_columns import (
    CandidateColumns as CandidateColumns, CandidateColumnsRepository as CandidateColumnsRepository,
    STATUSES as STATUSES,
)
from .pool_columns import ItemDraw as ItemDraw, PoolRepository as PoolRepository
from .run_columns import RunColumns as RunColumns, RunColumnsRepository as RunColumnsRepository
from .shown_columns import ShownRepository as ShownRepository, mark_shown as mark_shown
from .study_columns import ColumnRepository as ColumnRepository
