from .audit.audit_check import Audit as Audit, CheckedIds as CheckedIds, Freeze as Freeze
from .audit.design_freeze import DesignFreeze as DesignFreeze
from .audit.bundle_file import audit_bundle as audit_bundle
from .audit.study_check import audit_study as audit_study, count_findings as count_findings
from .audit.audit_check import AuditFindings as AuditFindings
from .audit.bundle_file import write_bundle as write_bundle
from .class_task import compare_study_classes as compare_study_classes
from .comparing import StudyComparison as StudyComparison, compare_study as compare_study
from .controls import (
    ExpertQuality as ExpertQuality,
    check_gold as check_gold,
    read_gold as read_gold,
    read_quality as read_quality,
)
from .costs import run_cost as run_cost, study_prices as study_prices
from .diagnosis import diagnose as diagnose
from .foreign_runs import (
    ImportedRun as ImportedRun, export_predictions as export_predictions,
    import_predictions as import_predictions,
    write_log_items as write_log_items,
)
from .gating import (
    Bars as Bars, GateCheck as GateCheck, GateReport as GateReport, gate_study as gate_study,
    name_gated as name_gated,
)
from .inputs import (
    advise_on_texts as advise_on_texts, digest_source as digest_source,
    find_source_changes as find_source_changes, note_source as note_source,
    read_items_ahead as read_items_ahead, stream_items as stream_items, study_clusters as study_clusters,
    study_items as study_items, study_truth as study_truth,
)
from .inspect_scores import (
    unpack_scores as unpack_scores, write_scores as write_scores,
)
from .item_pages import (
    ItemFilter as ItemFilter, ItemVerdict as ItemVerdict, ModelOutcome as ModelOutcome,
    StudyItems as StudyItems,
)
from .item_changes import (
    ChangedItem as ChangedItem, correct_item as correct_item, remove_item as remove_item, scrub as scrub,
)
from .items_overview import check_items as check_items, write_items as write_items
from .model_detail import (
    EstimatesOverTime as EstimatesOverTime, StratumAccuracy as StratumAccuracy,
    close_interval as close_interval, estimate_strata as estimate_strata,
)
from .model_runs import (
    Asking as Asking, batch_study as batch_study, forecast_study as forecast_study,
    give_up_batches as give_up_batches, run_study as run_study, summarise_run as summarise_run,
    take_sample as take_sample,
)
from .copied_study import copy_study as copy_study
from .new_study import (
    SEED_BITS as SEED_BITS, StudyProposal as StudyProposal, begin_study as begin_study,
    check_proposal as check_proposal, find_item_files as find_item_files, make_roster as make_roster,
    propose as propose, refuse_study as refuse_study, to_toml as to_toml, write_missing as write_missing,
)
from .opened_study import (
    EstimateOptions as EstimateOptions, OpenStudy as OpenStudy, check_look as check_look,
    describe_errors as describe_errors, find_newest_runs as find_newest_runs, note_look as note_look,
    refuse_panel as refuse_panel,
)
from .panels import (
    PanelStudy as PanelStudy, agree as agree, certify as certify, class_values as class_values,
    compare_with_reference as compare_with_reference, parity as parity,
    read_study_model as read_study_model, read_study_panel as read_study_panel,
)
from .planned_study import plan_study as plan_study
from .rereading import RunRereading as RunRereading, reread_study as reread_study
from .study_report import (
    ItemCounts as ItemCounts, ModelReport as ModelReport, true_accuracy as true_accuracy,
    StudyReport as StudyReport, report_study as report_study,
)
