from .asking.batch_api import cancel_batches as cancel_batches, run_batches as run_batches
from .limits.budget import (
    Budget as Budget, FREE as FREE, Price as Price, PriceTable as PriceTable, Reservation as Reservation,
    dollars as dollars, read_prices as read_prices,
)
from .limits.limiter import Limiter as Limiter
from .local.lifecycle import (
    find_local_model as find_local_model, start_local_model as start_local_model,
    stop_local_model as stop_local_model,
)
from .models.http_client import HttpClient as HttpClient
from .models.limited_model import LimitedModel as LimitedModel
from .models.interface import Message as Message, Model as Model, ModelReply as ModelReply, Request as Request
from .models.made_models import make_model as make_model
from .models.served_model import ServedModel as ServedModel
from .reading.reply_reader import ReplyForm as ReplyForm, Step as Step, read_reply as read_reply
from .reading.thoughts import cut_thoughts as cut_thoughts
from .reading.mentions import Notation as Notation, option_letters_of as option_letters_of
from .runner.batches import Batches as Batches
from .runner.prompt import (
    DEFAULT_TEMPLATE as DEFAULT_TEMPLATE, reply_form_of as reply_form_of, check_template as check_template,
    request_probabilities as request_probabilities,
)
from .runner.terms import (
    DEFAULT_TERMS as DEFAULT_TERMS, RunResult as RunResult, RunTerms as RunTerms,
    THIS_PROCESS as THIS_PROCESS, Workers as Workers,
)
from .runner.targets import (
    Forecast as Forecast, RandomPart as RandomPart, Target as Target, RequestedItems as RequestedItems,
    draw_sample as draw_sample, forecast as forecast, make_spec as make_spec,
)
from .runner.local_run import Progress as Progress, run as run, run_alone as run_alone
from .runner.event_loop import collecting_rarely as collecting_rarely, run_in_loop as run_in_loop
from .runner.prediction import (
    UNKNOWN_LETTER as UNKNOWN_LETTER, read_foreign_option as read_foreign_option,
    read_named_options as read_named_options,
    read_open_answer as read_open_answer,
    refuse_stranger as refuse_stranger,
)
