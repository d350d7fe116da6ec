from .items_overview import check_items as check_items, write_items as write_items
from .new_study import (
    begin_study as begin_study, check_proposal as check_proposal, refuse_study as refuse_study,
)
from .study_proposal import (
    StudyProposal as StudyProposal, find_item_files as find_item_files, propose as propose,
)
