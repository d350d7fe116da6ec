from .library import NAMES as NAMES, load_program as load_program
from .workflow_settings import (
    DEFAULT_FORMAT as DEFAULT_FORMAT, Example as Example, PromptFormat as PromptFormat, Role as Role,
    read_workflow_settings as read_workflow_settings,
)
