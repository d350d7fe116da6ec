from .control_questions import (
    ControlKind as ControlKind, ControlQuestion as ControlQuestion, ControlRepository as ControlRepository,
    GoldItem as GoldItem,
)
