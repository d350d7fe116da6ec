from .class_report import (
    ClassComparison as ClassComparison, ClassEstimates as ClassEstimates, CostTable as CostTable,
    UNREADABLE_COLUMN as UNREADABLE_COLUMN, check_metrics as check_metrics,
    classification_report as classification_report, compare_classes as compare_classes,
)
