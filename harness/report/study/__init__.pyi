from .contents import (
    ESTIMATOR_NAMES as ESTIMATOR_NAMES, ExpertReport as ExpertReport, ModelReport as ModelReport,
    RefutedPrediction as RefutedPrediction, StudyReport as StudyReport,
)
from .page import page_template as page_template, write_html as write_html, write_whole as write_whole
from .plots import (
    INK as INK, SERIES as SERIES, STYLE as STYLE, figure as figure, percent_axis as percent_axis, svg as svg,
)
from .table import estimates_table as estimates_table, percent as percent
