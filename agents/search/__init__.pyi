from .setup import optimiser_name as optimiser_name
from .confirmation import confirm_finalists as confirm_finalists
from .context import SearchContext as SearchContext
from .fitness.archive import Archive as Archive
from .fitness.expert_labels import ExpertLabels as ExpertLabels
from .fitness.power import Kind as Kind, simulated_labels as simulated_labels
from .fitness.board import score_candidates as score_candidates
from .fitness.scores import score_items as score_items
from .fitness.empirical_bayes import shrink_scores as shrink_scores
from .launch import continue_search as continue_search, estimate_costs as estimate_costs
from .loop import search as search
from .policies.proposal import Policy as Policy
from .search_report import export_winner as export_winner, report_search as report_search
from .setup import (
    WITHOUT_EXAMPLE as WITHOUT_EXAMPLE, model_name as model_name, open_search as open_search,
    prepare_search as prepare_search, resume_search as resume_search,
)
from .view.exported import read_exported_parts as read_exported_parts
from .view.candidate import whole_archive as whole_archive
