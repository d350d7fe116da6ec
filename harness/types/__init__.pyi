from .estimates import Counts as Counts, Estimate as Estimate
from .finding import Finding as Finding
from .flag_words import explain_flag as explain_flag
from .foreign import ForeignAnswer as ForeignAnswer
from .interval import Interval as Interval
from .labels import (
    LabelDesign as LabelDesign, Labels as Labels, ProtocolStatement as ProtocolStatement,
    deciding_statement as deciding_statement, design_of as design_of,
)
from .option_text import find_option as find_option, fold_text as fold_text
from .panel_records import Assignment as Assignment, Choice as Choice, Rating as Rating
from .program import Candidate as Candidate, Program as Program, Standing as Standing
from .records import (
    Answer as Answer, Item as Item, Label as Label, LabelKind as LabelKind, Prediction as Prediction,
    PredictionStatus as PredictionStatus, Question as Question, Source as Source, Verdict as Verdict,
)
