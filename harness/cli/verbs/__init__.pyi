from .estimate import estimate_to_json as estimate_to_json
from .run import lines as lines
