from .agents import Workflow as Workflow
from .harness import plot as plot
from .harness.analysis import agree as agree, certify as certify, parity as parity
from .harness.arrays import FAILED as FAILED, UNREADABLE as UNREADABLE
from .harness.datasets import (
    ItemMapping as ItemMapping, labels_from_frame as labels_from_frame,
    predictions_from_arrays as predictions_from_arrays, predictions_from_frame as predictions_from_frame,
    read_items as read_items, read_key as read_key, read_preset as read_preset,
    read_ratings as read_ratings,
)
from .harness.errors import (
    BadInput as BadInput, BudgetSpent as BudgetSpent, ConfigError as ConfigError, DataError as DataError,
    EstimateError as EstimateError, LabelStudioError as LabelStudioError, ModelError as ModelError,
    NotIdentified as NotIdentified, OversightError as OversightError, ProgramRefused as ProgramRefused,
    SandboxError as SandboxError, StoreError as StoreError,
)
from .harness.estimate import (
    CostTable as CostTable, accuracies as accuracies, accuracy as accuracy,
    classification_report as classification_report, compare as compare, compare_classes as compare_classes,
    decode as decode, estimate_counts as estimate_counts, gate_accuracy as gate_accuracy,
    gate_difference as gate_difference, model_accuracies as model_accuracies, plan as plan,
    plan_from_pilot as plan_from_pilot,
)
from .harness.llm import run as run
from .harness.registry import load_protocol as load_protocol
from .harness.release import __version__ as __version__
from .harness.report import study_report as study_report
from .harness.types import (
    Answer as Answer, Estimate as Estimate, Item as Item, Label as Label, LabelDesign as LabelDesign,
    LabelKind as LabelKind, Labels as Labels, Note as Note, NoteKind as NoteKind, Prediction as Prediction,
    PredictionStatus as PredictionStatus, ProtocolStatement as ProtocolStatement, Question as Question,
    Rating as Rating, Verdict as Verdict, to_frame as to_frame,
)
