from . import plot as plot
from .analysis import agree as agree, certify as certify, parity as parity
from .arrays import (
    AnyIntArray as AnyIntArray, BoolArray as BoolArray, FAILED as FAILED, FloatArray as FloatArray,
    IntArray as IntArray, UNREADABLE as UNREADABLE,
)
from .datasets import (
    ItemMapping as ItemMapping, labels_from_frame as labels_from_frame,
    predictions_from_arrays as predictions_from_arrays,
    predictions_from_frame as predictions_from_frame, read_items as read_items, read_key as read_key,
    read_preset as read_preset, read_ratings as read_ratings,
)
from .errors import (
    BadInput as BadInput, BudgetSpent as BudgetSpent, ConfigError as ConfigError, DataError as DataError,
    EstimateError as EstimateError, FatalModelError as FatalModelError, Fault as Fault,
    LabelStudioError as LabelStudioError, LostDatabase as LostDatabase,
    ModelError as ModelError, NotIdentified as NotIdentified, OversightError as OversightError,
    ProgramRefused as ProgramRefused, SandboxError as SandboxError, StoreError as StoreError,
    Stopped as Stopped,
    NoReply as NoReply, RefusedRequest as RefusedRequest,
    TransientModelError as TransientModelError, WrongType as WrongType, first_of as first_of,
)
from .estimate import (
    CostTable as CostTable, accuracies as accuracies, accuracy as accuracy,
    classification_report as classification_report, compare as compare,
    compare_classes as compare_classes, decode as decode,
    estimate_counts as estimate_counts, find_root as find_root, gate_accuracy as gate_accuracy,
    gate_difference as gate_difference, model_accuracies as model_accuracies,
    plan as plan, plan_from_pilot as plan_from_pilot,
)
from .argument_checks import check_mapping as check_mapping, check_names as check_names
from .llm import run as run
from .registry import (
    OPEN_PROTOCOL as OPEN_PROTOCOL, load_protocol as load_protocol, name_protocol as name_protocol,
)
from .report import study_report as study_report
from .release import __version__ as __version__
from .seeding import derive_seed as derive_seed, derive_seeds as derive_seeds
from .types import (
    Answer as Answer, Counts as Counts, Estimate as Estimate, Item as Item, Label as Label,
    LabelDesign as LabelDesign, LabelKind as LabelKind, Labels as Labels, Note as Note,
    NoteKind as NoteKind, Prediction as Prediction,
    PredictionStatus as PredictionStatus, ProtocolStatement as ProtocolStatement, Question as Question,
    Rating as Rating, Verdict as Verdict, to_frame as to_frame,
)
