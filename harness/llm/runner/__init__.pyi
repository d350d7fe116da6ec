from .batch_api import cancel_batches as cancel_batches, run_batches as run_batches
from .batches import Batches as Batches
from .cost_forecast import Forecast as Forecast, forecast as forecast
from .imported import to_predictions as to_predictions
from .parsing import (
    Unreadable as Unreadable, option_letters_of as option_letters_of, parse_answer as parse_answer,
)
from .progress_bar import Progress as Progress
from .prompt import DEFAULT_TEMPLATE as DEFAULT_TEMPLATE, check_template as check_template
from .run_models import BudgetCaps as BudgetCaps, run as run, run_targets as run_targets
from .targets import Target as Target, Wanted as Wanted, make_spec as make_spec, price_target as price_target
