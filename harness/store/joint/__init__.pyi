from .amounts import Amounts as Amounts
from .grants import GrantRepository as GrantRepository
from .joint_answers import JointAnswerRepository as JointAnswerRepository, WorkerWrite as WorkerWrite
from .joint_runs import JointRun as JointRun, JointRunRepository as JointRunRepository, JointSpec as JointSpec
from .leases import Lease as Lease, LeaseRepository as LeaseRepository
from .paces import PaceRepository as PaceRepository
from .workers import Worker as Worker, WorkerRepository as WorkerRepository
