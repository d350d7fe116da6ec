from .broker import Broker as Broker, open_broker as open_broker
from .host import (
    FailureTimes as FailureTimes, DryRunBroker as DryRunBroker, Workbench as Workbench,
    WorkflowHost as WorkflowHost, read_failure_time as read_failure_time, stamp_failure as stamp_failure,
)
from .program_answers import answer_items as answer_items, dry_run_program as dry_run_program
from .replay import Replay as Replay, replay_program as replay_program
from .request_draws import name_model as name_model
from .run_account import charge_before as charge_before
from .workflow_model import (
    ProgramService as ProgramService, WorkflowPlan as WorkflowPlan, find_runner as find_runner,
    rehearse as rehearse, run_workflow as run_workflow,
)
