from .run import (
    describe_run as describe_run, head_of_runs as head_of_runs, tail_of_runs as tail_of_runs,
)
