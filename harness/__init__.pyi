from . import plot as plot
from .arrays import (
    AnyIntArray as AnyIntArray, BoolArray as BoolArray, FAILED as FAILED, FloatArray as FloatArray,
    IntArray as IntArray, UNREADABLE as UNREADABLE,
)
from .errors import (
    BadInput as BadInput, BudgetSpent as BudgetSpent, ConfigError as ConfigError, DataError as DataError,
    EstimateError as EstimateError, FatalModelError as FatalModelError, Fault as Fault,
    LabelStudioError as LabelStudioError, LostDatabase as LostDatabase, ModelError as ModelError,
    NotIdentified as NotIdentified, OversightError as OversightError, ProgramRefused as ProgramRefused,
    SandboxError as SandboxError, StoreError as StoreError, NoReply as NoReply,
    RefusedRequest as RefusedRequest, TransientModelError as TransientModelError, WrongType as WrongType,
    first_of as first_of,
)
from .argument_checks import check_mapping as check_mapping, check_names as check_names
from .registry import (
    OPEN_PROTOCOL as OPEN_PROTOCOL, load_protocol as load_protocol, name_protocol as name_protocol,
)
from .release import __version__ as __version__
from .seeding import derive_seed as derive_seed, derive_seeds as derive_seeds
