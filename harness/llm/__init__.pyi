from .answers import (
    DEFAULT_TEMPLATE as DEFAULT_TEMPLATE, Unreadable as Unreadable, check_template as check_template,
    option_letters_of as option_letters_of, parse_answer as parse_answer,
)
from .limits import (
    Batches as Batches, Budget as Budget, CallCounts as CallCounts, FREE as FREE,
    LimitedModel as LimitedModel, Limiter as Limiter, Price as Price, PriceTable as PriceTable,
    dollars as dollars, read_prices as read_prices,
)
from .local import (
    find_local_model as find_local_model, start_local_model as start_local_model,
    stop_local_model as stop_local_model,
)
from .models import (
    Message as Message, Model as Model, ModelReply as ModelReply, Request as Request,
    make_model as make_model,
)
from .runner import (
    BudgetCaps as BudgetCaps, Forecast as Forecast, Progress as Progress, Target as Target, Wanted as Wanted,
    cancel_batches as cancel_batches, forecast as forecast, make_spec as make_spec,
    price_target as price_target, run as run, run_batches as run_batches, run_targets as run_targets,
    to_predictions as to_predictions,
)
