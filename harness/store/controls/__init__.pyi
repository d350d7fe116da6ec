from .control_questions import (
    ControlKind as ControlKind, ControlQuestion as ControlQuestion, ControlRepository as ControlRepository,
    GoldItem as GoldItem,
)
from .question_keys import QuestionKeyRepository as QuestionKeyRepository
