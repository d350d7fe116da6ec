from .output import emit as emit, note as note
from .study_arguments import add_study as add_study, study_of as study_of
from .verbs import estimate_to_json as estimate_to_json, lines as lines
