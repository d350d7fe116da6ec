from .batch_api import cancel_batches as cancel_batches, run_batches as run_batches
from .joining import join_runs as join_runs
from .joint_budget import JointAllowance as JointAllowance
from .membership import Membership as Membership, Watch as Watch
from .dispatch import run_targets as run_targets
