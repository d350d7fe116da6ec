"""Several annotators per item: agreement, certification, human level, parity. Pure functions."""

from harness.panel.agreement.alpha import Agreement, category_alphas, krippendorff_alpha
from harness.panel.agreement.kappa import cohen_kappa, fleiss_kappa, gwet_ac1, pairwise
from harness.panel.agreement.report_agreement import AgreementReport, measure_agreement
from harness.panel.human_level.methodology import human_level_choices, human_level_tagging
from harness.panel.human_level.standing import hlpi, hlpri
from harness.panel.parity.by_certainty import (
    Parity,
    measure_parity,
    measure_parity_by_class,
    measure_parity_by_label,
)
from harness.panel.ratings.certainty_strata import describe_strata, neyman_allocation, stratify_by_certainty
from harness.panel.ratings.dawid_skene import fit_dawid_skene
from harness.panel.ratings.panel import Panel, make_panel, make_panel_from_grid
from harness.panel.superhuman.betting_test import betting_confidence
from harness.panel.superhuman.bounds_by_panel_size import compute_bounds_by_size
from harness.panel.superhuman.certificate import Evidence, certify
from harness.panel.superhuman.decision import assess_superhuman, assess_superhuman_from_counts
from harness.panel.superhuman.direct_comparison import direct_plan, direct_result
from harness.panel.superhuman.verdict import Superhuman

__all__ = [
    "Agreement",
    "AgreementReport",
    "Evidence",
    "Panel",
    "Parity",
    "Superhuman",
    "assess_superhuman",
    "assess_superhuman_from_counts",
    "betting_confidence",
    "category_alphas",
    "certify",
    "cohen_kappa",
    "compute_bounds_by_size",
    "describe_strata",
    "direct_plan",
    "direct_result",
    "fit_dawid_skene",
    "fleiss_kappa",
    "gwet_ac1",
    "hlpi",
    "hlpri",
    "human_level_choices",
    "human_level_tagging",
    "krippendorff_alpha",
    "make_panel",
    "make_panel_from_grid",
    "measure_agreement",
    "measure_parity",
    "measure_parity_by_class",
    "measure_parity_by_label",
    "neyman_allocation",
    "pairwise",
    "stratify_by_certainty",
]
