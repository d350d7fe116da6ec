from .programs import Program as Program
from .standalone import Workflow as Workflow
