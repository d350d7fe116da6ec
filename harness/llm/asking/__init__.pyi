from .batch_api import cancel_batches as cancel_batches, run_batches as run_batches
from .joining import join_runs as join_runs
from .dispatch import run_targets as run_targets
