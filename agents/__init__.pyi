from .standalone import Workflow as Workflow
