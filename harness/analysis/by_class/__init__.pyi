from .class_task import ClassTask as ClassTask
from .class_task import compare_study_classes as compare_study_classes
from .class_task import plan_class_task as plan_class_task
