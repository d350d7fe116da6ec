from .accuracy_formats import FORMATS as FORMATS, format_accuracies as format_accuracies
from .estimate_text import (
    comparison_to_json as comparison_to_json, differences_to_json as differences_to_json,
    estimate_to_json as estimate_to_json, gather_cautions as gather_cautions,
    gather_notes as gather_notes,
    model_to_json as model_to_json, pool_to_json as pool_to_json, study_to_json as study_to_json,
    agreement_to_json as agreement_to_json, certificate_to_json as certificate_to_json,
    parity_to_json as parity_to_json, to_json as to_json,
)
from .estimate_text import (
    check_lines as check_lines, cost_text as cost_text, group_reasons as group_reasons,
    items_text as items_text, label_texts as label_texts, quality_table as quality_table,
    quality_to_json as quality_to_json, questions_text as questions_text,
)
from .gate_text import (
    gate_to_json as gate_to_json, gate_to_junit as gate_to_junit, gate_to_markdown as gate_to_markdown,
)
from .open_study import (
    study_report as study_report,
)
from .search_findings import (
    SearchReport as SearchReport, SearchedCandidate as SearchedCandidate,
    SearchedWinner as SearchedWinner, search_text as search_text,
)
from .terminal_table import (
    first_screen as first_screen, paper_report as paper_report, classes_tables as classes_tables,
    counts_table as counts_table, differences_table as differences_table,
    estimates_table as estimates_table, gate_screen as gate_screen,
)
