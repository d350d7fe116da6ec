from .estimate import estimate_to_json as estimate_to_json
from .run import describe_run as describe_run
