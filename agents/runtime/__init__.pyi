from .broker import Broker as Broker
from .failure_times import (
    FailureTimes as FailureTimes, read_failure_time as read_failure_time, stamp_failure as stamp_failure,
)
from .host import ObligingBroker as ObligingBroker, Workbench as Workbench
from .program_answers import answer_items as answer_items, dry_run_program as dry_run_program
from .node_programs import ProgramService as ProgramService, find_runner as find_runner
from .replay import Replay as Replay, replay_program as replay_program
from .request_draws import name_model as name_model
from .run_account import charge_before as charge_before
from .workflow_model import (
    WorkflowPlan as WorkflowPlan, rehearse as rehearse, run_workflow as run_workflow,
)
