from .broker import Broker as Broker
from .dry_run import dry_run_program as dry_run_program
from .host import WorkflowHost as WorkflowHost, answer_items as answer_items
from .workflow_model import WorkflowPlan as WorkflowPlan, rehearse as rehearse, run_workflow as run_workflow
