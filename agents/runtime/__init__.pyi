from .broker import Broker as Broker
from .dry_run import dry_run_program as dry_run_program
from .evaluate import answer_items as answer_items, prediction_of as prediction_of
from .host import WorkflowHost as WorkflowHost
from .workflow_model import WorkflowPlan as WorkflowPlan, rehearse as rehearse, run_workflow as run_workflow
