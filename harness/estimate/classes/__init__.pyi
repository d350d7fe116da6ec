from .class_differences import ClassComparison as ClassComparison, compare_classes as compare_classes
from .class_report import check_metrics as check_metrics
from .class_report import classification_report as classification_report
from .mean_costs import CostTable as CostTable, UNREADABLE_COLUMN as UNREADABLE_COLUMN
from .class_report import ClassEstimates as ClassEstimates
