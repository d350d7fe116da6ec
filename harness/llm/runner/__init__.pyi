from .cost_forecast import Forecast as Forecast, forecast as forecast
from .imported import to_predictions as to_predictions
from .prediction import make_failed as make_failed, read_prediction as read_prediction
from .preparation import prepare as prepare
from .progress_bar import Progress as Progress
from .run_models import BudgetCaps as BudgetCaps, run as run, run_targets as run_targets
from .targets import (
    Target as Target, announce as announce, load_items as load_items, make_spec as make_spec,
    price_target as price_target, tell as tell,
)
