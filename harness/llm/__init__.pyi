from .asking import (
    cancel_batches as cancel_batches, run_batches as run_batches,
)
from .limits import (
    Budget as Budget, FREE as FREE, Limiter as Limiter, Price as Price, PriceTable as PriceTable,
    Reservation as Reservation, dollars as dollars, read_prices as read_prices,
)
from .local import (
    find_local_model as find_local_model, start_local_model as start_local_model,
    stop_local_model as stop_local_model,
)
from .models import (
    HttpClient as HttpClient, LimitedModel as LimitedModel,
    Message as Message, Model as Model, ModelReply as ModelReply, Request as Request,
    make_model as make_model,
)
from .reading import (
    ReplyForm as ReplyForm, Step as Step, cut_thoughts as cut_thoughts,
    option_letters_of as option_letters_of, read_reply as read_reply,
)
from .runner import (
    Batches as Batches, DEFAULT_TEMPLATE as DEFAULT_TEMPLATE, DEFAULT_TERMS as DEFAULT_TERMS,
    Forecast as Forecast, Progress as Progress, RandomPart as RandomPart, RunResult as RunResult,
    RunTerms as RunTerms, THIS_PROCESS as THIS_PROCESS, Target as Target, RequestedItems as RequestedItems,
    Workers as Workers, reply_form_of as reply_form_of, check_template as check_template,
    collecting_rarely as collecting_rarely, draw_sample as draw_sample, forecast as forecast,
    make_spec as make_spec, read_foreign_option as read_foreign_option,
    read_named_options as read_named_options, refuse_stranger as refuse_stranger, run as run,
    run_alone as run_alone, run_in_loop as run_in_loop,
)
