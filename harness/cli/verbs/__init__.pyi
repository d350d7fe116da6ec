from .run import describe_run as describe_run
