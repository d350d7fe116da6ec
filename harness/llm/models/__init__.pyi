from .chat_completions import (
    LimitField as LimitField, read_refusal as read_refusal, request_body as request_body,
)
from .completions import (
    CUT as CUT, FILTERED as FILTERED, load_body as load_body, parse_completion as parse_completion,
)
from .http_client import HttpClient as HttpClient
from .interface import (
    Message as Message, Model as Model, ModelReply as ModelReply, Request as Request,
    RunnableModel as RunnableModel,
)
from .made_models import make_model as make_model
from .limited_model import LimitedModel as LimitedModel, TokenGuess as TokenGuess
from .reported_usage import read_usage as read_usage
from .sdk_model import SdkClient as SdkClient, read_reply as read_reply, sdk_client as sdk_client
from .served_model import ServedModel as ServedModel
