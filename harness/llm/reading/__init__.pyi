from .mentions import Notation as Notation, option_letters_of as option_letters_of
from .reply_reader import (
    ANY_FORM as ANY_FORM, ReplyForm as ReplyForm, ReplyReading as ReplyReading, Step as Step,
    read_reply as read_reply,
)
from .thoughts import cut_thoughts as cut_thoughts
