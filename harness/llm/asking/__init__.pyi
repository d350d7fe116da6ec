from .batch_api import cancel_batches as cancel_batches, run_batches as run_batches
