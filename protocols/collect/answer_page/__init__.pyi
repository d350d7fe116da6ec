from .answer_server import AnswerPageOptions as AnswerPageOptions, serve_answers as serve_answers
from .expert_links import (
    MadeLink as MadeLink, list_links as list_links, make_links as make_links, revoke_links as revoke_links,
)
