from .amounts import Amounts as Amounts
from .call_claims import CallClaimRepository as CallClaimRepository, ClaimChange as ClaimChange
from .grants import GrantRepository as GrantRepository
from .joint_answers import JointAnswerRepository as JointAnswerRepository, WorkerWrite as WorkerWrite
from .joint_runs import JointRun as JointRun, JointRunRepository as JointRunRepository, JointSpec as JointSpec
from .leases import Lease as Lease, LeaseRepository as LeaseRepository
from .paces import PaceRepository as PaceRepository
from .program_work import (
    ProgramPortion as ProgramPortion, ProgramWork as ProgramWork,
    ProgramWorkRepository as ProgramWorkRepository,
)
