from .conventions import (
    add_actions as add_actions, add_json as add_json, add_settings as add_settings,
    add_shared_terms as add_shared_terms, add_study as add_study, add_verbose as add_verbose,
    check_address as check_address, emit as emit, leave_threads as leave_threads,
    read_workers as read_workers, study_of as study_of,
)
from .verbs.run import (
    describe_run as describe_run, head_of_runs as head_of_runs, tail_of_runs as tail_of_runs,
)
