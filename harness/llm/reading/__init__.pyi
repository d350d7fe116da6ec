from .options import (
    Notation as Notation, letter_position as letter_position, option_letters_of as option_letters_of,
)
from .reply_reader import (
    Asked as Asked, Reading as Reading, Step as Step, UNASKED as UNASKED, read_reply as read_reply,
)
from .thoughts import cut_thoughts as cut_thoughts
