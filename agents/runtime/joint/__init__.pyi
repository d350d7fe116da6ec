from .helping import help_works as help_works
from .leading import (
    ALONE as ALONE, Leader as Leader, SharedTerms as SharedTerms, lead_work as lead_work,
    make_spec_of_work as make_spec_of_work,
)
from .program_portions import ProgramTerms as ProgramTerms
from .shared_calls import SharedCalls as SharedCalls
