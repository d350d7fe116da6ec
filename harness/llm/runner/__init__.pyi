from .batch_api import cancel_batches as cancel_batches, run_batches as run_batches
from .batches import Batches as Batches
from .event_loop import run_in_loop as run_in_loop
from .parsing import (
    Unreadable as Unreadable, option_letters_of as option_letters_of, parse_answer as parse_answer,
)
from .prediction import (
    read_foreign_option as read_foreign_option,
    read_named_options as read_named_options, refuse_stranger as refuse_stranger,
)
from .progress_bar import Progress as Progress
from .prompt import DEFAULT_TEMPLATE as DEFAULT_TEMPLATE, check_template as check_template
from .run_models import (
    BudgetCaps as BudgetCaps, DEFAULT_PATIENCE as DEFAULT_PATIENCE, run as run, run_targets as run_targets,
)
from .targets import (
    Forecast as Forecast, RandomPart as RandomPart, Target as Target, Wanted as Wanted,
    draw_sample as draw_sample, forecast as forecast, make_spec as make_spec,
)
