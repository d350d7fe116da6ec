from .confirmation import confirm_finalists as confirm_finalists, decide as decide
from .context import (
    Policy as Policy, PolicyView as PolicyView, Proposal as Proposal, SearchContext as SearchContext,
    Settings as Settings,
)
from .loop import Ended as Ended, TWICE as TWICE, complete as complete, search as search
