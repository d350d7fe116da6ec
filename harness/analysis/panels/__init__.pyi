from .panel_calls import (
    AnyChoices as AnyChoices, AnyRatings as AnyRatings, agree as agree, certify as certify, parity as parity,
)
from .panel_study import (
    PanelStudy as PanelStudy, class_values as class_values, compare_with_reference as compare_with_reference,
    read_study_model as read_study_model, read_study_panel as read_study_panel,
)
