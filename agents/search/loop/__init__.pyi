from .confirmation import confirm_finalists as confirm_finalists, decide as decide
from .context import SearchContext as SearchContext
from .loop import Ended as Ended, TWICE as TWICE, search as search
from .policy import Policy as Policy, PolicyView as PolicyView, Proposal as Proposal
