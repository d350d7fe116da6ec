from .contents import (
    ESTIMATOR_NAMES as ESTIMATOR_NAMES, ModelReport as ModelReport, StudyReport as StudyReport,
)
from .costs import study_prices as study_prices
from .options import EstimateOptions as EstimateOptions
from .panel_study import (
    PanelStudy as PanelStudy, class_values as class_values, compare_with_reference as compare_with_reference,
)
from .study_inputs import stream_items as stream_items, study_items as study_items, study_truth as study_truth
from .study_prompts import system_of as system_of, template_of as template_of
from .study_report import (
    find_newest_runs as find_newest_runs, summarise as summarise, true_accuracy as true_accuracy,
)
