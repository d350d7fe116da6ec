from .checked_settings import optimiser_name as optimiser_name
from .confirmation import confirm_finalists as confirm_finalists
from .context import SearchContext as SearchContext
from .fitness import (
    Archive as Archive, ExpertLabels as ExpertLabels, Kind as Kind, score_candidates as score_candidates,
    score_items as score_items, shrink_scores as shrink_scores, simulated_labels as simulated_labels,
)
from .launch import continue_search as continue_search, estimate_costs as estimate_costs
from .loop import search as search
from .policies import Policy as Policy
from .search_report import export_winner as export_winner, report_search as report_search
from .setup import (
    model_name as model_name, open_search as open_search, prepare_search as prepare_search,
    resume_search as resume_search,
)
from .view import read_exported_parts as read_exported_parts, whole_archive as whole_archive
