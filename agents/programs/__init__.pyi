from .call import BadCall as BadCall, Call as Call, Shown as Shown, read_call as read_call
from .library import NAMES as NAMES, load_program as load_program
from .prompt_format import DEFAULT_FORMAT as DEFAULT_FORMAT, Example as Example, PromptFormat as PromptFormat
from .roles import Role as Role
from .workflow_settings import read_workflow_settings as read_workflow_settings
