from .class_report import METRICS as METRICS, classification_report as classification_report
from .cost_table import CostTable as CostTable
