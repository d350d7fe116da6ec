from .chat_completions import (
    parse_completion as parse_completion, request_body as request_body, status_error as status_error,
)
from .factory import RunnableModel as RunnableModel, make_model as make_model
from .model_identity import ServedModel as ServedModel
from .openai_model import sdk_client as sdk_client, sdk_error as sdk_error
from .requests import Message as Message, Model as Model, ModelReply as ModelReply, Request as Request
