from .parsing import (
    Notation as Notation, Unreadable as Unreadable, option_letters_of as option_letters_of,
    parse_answer as parse_answer,
)
from .prompt import (
    DEFAULT_TEMPLATE as DEFAULT_TEMPLATE, answer_schema as answer_schema, check_template as check_template,
    make_request as make_request, notation_of as notation_of,
)
