from .item_filter import ItemFilter as ItemFilter, ItemVerdict as ItemVerdict, ModelOutcome as ModelOutcome
from .study_items import StudyItems as StudyItems
