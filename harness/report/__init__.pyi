from .estimate_json import (
    comparison_to_json as comparison_to_json, estimate_to_json as estimate_to_json,
    gather_cautions as gather_cautions, model_to_json as model_to_json, study_to_json as study_to_json,
)
from .estimate_words import (
    caution_text as caution_text, check_lines as check_lines, cost_text as cost_text,
    interval_text as interval_text, items_text as items_text,
    label_texts as label_texts, method_text as method_text, note_lines as note_lines,
    questions_text as questions_text, value_text as value_text,
)
from .interval_names import method_words as method_words
from .gate_words import (
    gate_to_json as gate_to_json, gate_to_junit as gate_to_junit, gate_to_markdown as gate_to_markdown,
)
from .panel_json import (
    CEILING_NAMES as CEILING_NAMES, agreement_to_json as agreement_to_json,
    certificate_to_json as certificate_to_json, parity_to_json as parity_to_json, to_json as to_json,
)
from .search_findings import (
    SearchReport as SearchReport, SearchedCandidate as SearchedCandidate, SearchedWinner as SearchedWinner,
)
from .search_terminal import search_text as search_text
from .terminal_table import (
    counts_table as counts_table, estimates_table as estimates_table, gate_table as gate_table,
)
