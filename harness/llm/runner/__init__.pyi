from .cost_forecast import Forecast as Forecast, forecast as forecast
from .imported import to_predictions as to_predictions
from .prediction import make_failed as make_failed, read_prediction as read_prediction
from .preparation import Target as Target, prepare as prepare, price_target as price_target
from .progress_bar import Progress as Progress, tell as tell
from .run_models import (
    BudgetCaps as BudgetCaps, announce as announce, make_spec as make_spec, run as run,
    run_targets as run_targets,
)
