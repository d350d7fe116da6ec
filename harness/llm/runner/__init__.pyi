from .batches import Batches as Batches
from .event_loop import collecting_rarely as collecting_rarely, run_in_loop as run_in_loop
from .local_run import Progress as Progress, run as run, run_alone as run_alone
from .prediction import (
    make_failed as make_failed, read_prediction as read_prediction,
    read_foreign_option as read_foreign_option,
    read_named_options as read_named_options, refuse_stranger as refuse_stranger,
)
from .preparation import prepare as prepare
from .prompt import (
    DEFAULT_TEMPLATE as DEFAULT_TEMPLATE, check_template as check_template, make_request as make_request,
    reply_form_of as reply_form_of,
)
from .targets import (
    Forecast as Forecast, RandomPart as RandomPart, Target as Target, RequestedItems as RequestedItems,
    draw_sample as draw_sample, forecast as forecast, hold_runs as hold_runs, load_items as load_items,
    make_served as make_served, make_spec as make_spec,
)
from .terms import (
    DEFAULT_TERMS as DEFAULT_TERMS, RunResult as RunResult, RunTerms as RunTerms,
    THIS_PROCESS as THIS_PROCESS, Workers as Workers,
)
