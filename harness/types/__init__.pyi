from .estimates import (
    CORRECTED as CORRECTED, ESTIMATOR_NAMES as ESTIMATOR_NAMES, OUTSIDE as OUTSIDE,
    PROTOCOLS_OWN as PROTOCOLS_OWN, WORST_CASE as WORST_CASE, Counts as Counts, Estimate as Estimate,
    Interval as Interval, Displayable as Displayable, caution_lines as caution_lines,
    caution_text as caution_text, estimate_table as estimate_table, estimator_name as estimator_name,
    interval_text as interval_text,
    main_estimate as main_estimate, main_name as main_name, method_text as method_text,
    method_words as method_words, note_lines as note_lines, protocol_estimate as protocol_estimate,
    reading_lines as reading_lines, to_frame as to_frame, value_text as value_text,
)
from .html_table import (
    HtmlTable as HtmlTable, format_number as format_number, level_text as level_text, percent as percent,
    span as span,
)
from .labels import (
    LabelDesign as LabelDesign, Labels as Labels, ProtocolStatement as ProtocolStatement,
    deciding_statement as deciding_statement, design_of as design_of,
)
from .listed_options import find_listed_order as find_listed_order
from .notes import (
    Note as Note, ResultWithNotes as ResultWithNotes, NoteKind as NoteKind, plain_fields as plain_fields,
)
from .program import (
    Candidate as Candidate, Program as Program, Standing as Standing,
)
from .records import (
    Finding as Finding, ForeignAnswer as ForeignAnswer, find_option as find_option,
    content_id as content_id, find_number as find_number, fold_text as fold_text, join_lines as join_lines,
    trim_number as trim_number,
    Assignment as Assignment, Choice as Choice, Rating as Rating,
    control_id as control_id, is_erased as is_erased, question_id as question_id,
    question_ids as question_ids, OPEN_ANSWER as OPEN_ANSWER, UNIT_PREFIX as UNIT_PREFIX,
    seal_ids as seal_ids, PLACES as PLACES, SECOND_QUESTIONS as SECOND_QUESTIONS,
    draw_place as draw_place, Answer as Answer, Item as Item, Label as Label, LabelKind as LabelKind,
    Prediction as Prediction, PredictionStatus as PredictionStatus, Question as Question,
    SharedOptions as SharedOptions, Source as Source, Verdict as Verdict,
    refuse_other_options as refuse_other_options,
)
from .usage import Usage as Usage
