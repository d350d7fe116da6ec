from .conventions import add_study as add_study, emit as emit, study_of as study_of
from .verbs import describe_run as describe_run
