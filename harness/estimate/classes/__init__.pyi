from .class_differences import ClassComparison as ClassComparison, compare_classes as compare_classes
from .class_names import check_metrics as check_metrics
from .class_report import classification_report as classification_report
from .cost_table import CostTable as CostTable, UNREADABLE_COLUMN as UNREADABLE_COLUMN
from .model_by_class import ClassEstimates as ClassEstimates
