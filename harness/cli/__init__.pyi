from .output import emit as emit, note as note
from .study_arguments import (
    add_study as add_study, study_items as study_items, study_of as study_of, study_truth as study_truth,
)
from .verbs import (
    Finding as Finding, estimate_to_json as estimate_to_json, lines as lines, summary as summary,
)
